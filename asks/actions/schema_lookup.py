"""Look up the types, values and names that a JSON Schema allows at one place in params.

The results are hints for a form and for keeping types. ``asks.actions.schema`` validates values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agents.text.canonical_json import Json

MOST_BRANCHES = 50
TYPES = frozenset({"null", "boolean", "number", "string", "array", "object"})


def json_type_of(value: Json) -> str:
    """Return the JSON type of a value. Integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


@dataclass(frozen=True)
class SchemaPlace:
    """A place in params, with its subschema in ``here``; None if the schema does not describe it."""

    root: Json
    here: Json

    @property
    def types(self) -> frozenset[str]:
        """The types that the schema names here. Empty if it names none."""
        names: set[str] = set()
        for branch in self._branches():
            named = branch.get("type")
            names |= {one for one in [named, *_list(named)] if isinstance(one, str)}
            names |= {json_type_of(value) for value in _values(branch)}
        return TYPES & {"number" if name == "integer" else name for name in names}

    @property
    def choices(self) -> list[Json]:
        """The values that the schema lists here. Empty if it lists none."""
        return [value for branch in self._branches() for value in _values(branch)]

    @property
    def names(self) -> frozenset[str]:
        """The names of the properties that the schema defines here."""
        objects = [_dict(branch.get("properties")) for branch in self._branches()]
        return frozenset(name for properties in objects for name in properties)

    def member(self, name: str) -> SchemaPlace:
        """Return the place of a property."""
        for branch in self._branches():
            properties = _dict(branch.get("properties"))
            if name in properties:
                return SchemaPlace(self.root, properties[name])
            if isinstance(branch.get("additionalProperties"), dict):
                return SchemaPlace(self.root, branch["additionalProperties"])
        return SchemaPlace(self.root, None)

    def item(self, number: int) -> SchemaPlace:
        """Return the place of a list item, counted from 0."""
        for branch in self._branches():
            first = _list(branch.get("prefixItems"))
            if number < len(first):
                return SchemaPlace(self.root, first[number])
            if isinstance(branch.get("items"), dict):
                return SchemaPlace(self.root, branch["items"])
        return SchemaPlace(self.root, None)

    def _branches(self) -> Iterator[dict[str, Json]]:
        """Yield the subschema here and the subschemas that it refers to or combines."""
        waiting, seen = [self.here], 0
        while waiting and seen < MOST_BRANCHES:
            branch, seen = waiting.pop(0), seen + 1
            if not isinstance(branch, dict):
                continue
            if isinstance(branch.get("$ref"), str):
                waiting.append(_followed(self.root, branch["$ref"]))
            for together in ("anyOf", "oneOf", "allOf"):
                waiting.extend(_list(branch.get(together)))
            yield branch


def _values(branch: dict[str, Json]) -> list[Json]:
    listed = _list(branch.get("enum"))
    return [*listed, branch["const"]] if "const" in branch else listed


def _list(part: Json) -> list[Json]:
    """Return a list, or an empty one: a reference may point at something that is not a schema."""
    return list(part) if isinstance(part, list) else []


def _dict(part: Json) -> dict[str, Json]:
    return part if isinstance(part, dict) else {}


def _followed(root: Json, reference: str) -> Json:
    """Resolve a reference within the schema. Return None if it points nowhere."""
    if not reference.startswith("#"):
        return None
    part = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        part = part.get(name) if isinstance(part, dict) else None
    return part
