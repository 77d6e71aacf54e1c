"""What a JSON Schema says of one place in params: which types, which values, which names.

It reads the schema without judging: what it finds are hints for a form and for keeping types;
whether a value fits is said by ``asks.actions.schema``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agents.text.canonical_json import Json

MOST_BRANCHES = 50
TYPES = frozenset({"null", "boolean", "number", "string", "array", "object"})


def json_type_of(value: Json) -> str:
    """The JSON type of a value; whole numbers are numbers."""
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
    """A place in params, with what a schema says of it. ``here`` is None where it says nothing."""

    root: Json
    here: Json

    @property
    def types(self) -> frozenset[str]:
        """The types that it names; none where it names none."""
        found: set[str] = set()
        for branch in self._branches():
            named = branch.get("type")
            found |= {one for one in [named, *_list(named)] if isinstance(one, str)}
            found |= {json_type_of(value) for value in _values(branch)}
        return TYPES & {"number" if name == "integer" else name for name in found}

    @property
    def choices(self) -> list[Json]:
        """The values that it lists, if it lists some."""
        return [value for branch in self._branches() for value in _values(branch)]

    @property
    def names(self) -> frozenset[str]:
        """The names that an object may have here."""
        found = [_dict(branch.get("properties")) for branch in self._branches()]
        return frozenset(name for names in found for name in names)

    def member(self, name: str) -> SchemaPlace:
        """The place of a value by its name."""
        for branch in self._branches():
            properties = _dict(branch.get("properties"))
            if name in properties:
                return SchemaPlace(self.root, properties[name])
            if isinstance(branch.get("additionalProperties"), dict):
                return SchemaPlace(self.root, branch["additionalProperties"])
        return SchemaPlace(self.root, None)

    def item(self, number: int) -> SchemaPlace:
        """The place of an item of a list."""
        for branch in self._branches():
            first = _list(branch.get("prefixItems"))
            if number < len(first):
                return SchemaPlace(self.root, first[number])
            if isinstance(branch.get("items"), dict):
                return SchemaPlace(self.root, branch["items"])
        return SchemaPlace(self.root, None)

    def _branches(self) -> Iterator[dict[str, Json]]:
        """The schema at this place and those that it is put together from."""
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


def _list(found: Json) -> list[Json]:
    """A reference may lead to what is no schema, so nothing is taken for granted."""
    return list(found) if isinstance(found, list) else []


def _dict(found: Json) -> dict[str, Json]:
    return found if isinstance(found, dict) else {}


def _followed(root: Json, reference: str) -> Json:
    """What a reference within the schema leads to; None where it leads nowhere."""
    if not reference.startswith("#"):
        return None
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found
