"""Convert a bound call to form fields and back; untouched values stay exactly as they were.

Every value that is no object has a field; a list, and an object with nothing in it, is edited as
JSON. What cannot be read as the type that it has is handed on as the text it is, so that the verb
that approves refuses it by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from django.utils.translation import gettext as _

from agents.text import json_input
from agents.text.canonical_json import Json
from asks.actions import editing
from asks.actions.schema import Flaw, join_path
from asks.actions.schema_lookup import SchemaPlace, json_type_of
from asks.models import Gate
from workspace.pages.cards.call_rows import value_in_words
from workspace.text.line_ends import keep_line_ends, mark_line_ends

PREFIX = "edit"
MOST_FIELDS = 60
"""A call with more values than this is edited as JSON in one field."""
MOST_CHOICES = 50
LINE = 80
Path = tuple[str, ...]


@dataclass(frozen=True)
class EditField:
    """One editable value. `kind` is line, text, json or choice; `choices` pair JSON with labels.

    `marked` names what a field cannot show: carriage returns, and blanks at the ends of lines.
    """

    name: str
    label: str
    kind: str
    text: str
    choices: tuple[tuple[str, str], ...] = ()
    wrong: str = ""
    marked: str = ""


@dataclass(frozen=True)
class _Leaf:
    """An editable value with its path in the params and its schema."""

    path: Path
    value: Json
    place: SchemaPlace

    @property
    def name(self) -> str:
        steps = (step.replace("~", "~0").replace("/", "~1") for step in self.path)
        return PREFIX + "".join(f"/{step}" for step in steps)

    @property
    def label(self) -> str:
        label = ""
        for step in self.path:
            label = join_path(label, step)
        return label or _("all of it")


def fields_of(gate: Gate, params: Json = None) -> tuple[EditField, ...]:
    """Return the fields of a gate's call, or of the params that replace it."""
    whole = editing.asked_params(gate) if params is None else params
    return tuple(_field(leaf) for leaf in _leaves(gate, whole))


def with_typed(
    fields: Sequence[EditField], typed: Mapping[str, str], flaws: Sequence[Flaw] = ()
) -> tuple[EditField, ...]:
    """Return the fields with the typed texts and their errors."""
    return tuple(
        replace(field, text=typed.get(field.name, field.text), wrong=_wrong_with(field, flaws))
        for field in fields
    )


def read_edit(gate: Gate, typed: Mapping[str, str]) -> Json:
    """Build the params from form fields by name."""
    params: Json = json.loads(json.dumps(editing.asked_params(gate)))  # noqa: TID251  our own writing
    for leaf in _leaves(gate, params):
        text = typed.get(leaf.name)
        if text is not None and _lines(text) != _lines(_field(leaf).text):
            params = _put(params, leaf.path, _value(leaf, _typed(leaf, text)))
    return params


def _wrong_with(field: EditField, flaws: Sequence[Flaw]) -> str:
    """Return the errors at a field's path or inside its JSON."""
    found = [flaw for flaw in flaws if flaw.path == field.label]
    if field.kind == "json":
        starts = (f"{field.label}[", f"{field.label}.")
        found += [flaw for flaw in flaws if flaw.path.startswith(starts)]
        found += [flaw for flaw in flaws if field.name == PREFIX and flaw not in found]
    return " ".join(
        flaw.why if flaw.path == field.label else f"{flaw.path}: {flaw.why}".lstrip(": ")
        for flaw in found[:5]
    )


def _leaves(gate: Gate, params: Json) -> list[_Leaf]:
    root = SchemaPlace(gate.schema, gate.schema)
    leaves = list(islice(_inside(params, root, ()), MOST_FIELDS + 1))
    return leaves if len(leaves) <= MOST_FIELDS else [_Leaf((), params, root)]


def _inside(value: Json, place: SchemaPlace, path: Path) -> Iterator[_Leaf]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _inside(inner, place.member(name), (*path, name))
    elif value is not None or place.types - {"null"}:
        yield _Leaf(path, value, place)


def _field(leaf: _Leaf) -> EditField:
    value, choices = leaf.value, _choices(leaf)
    if choices:
        return EditField(leaf.name, leaf.label, "choice", json.dumps(value), choices)
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False, indent=1)
        return EditField(leaf.name, leaf.label, "json", text)
    if value is None:
        return EditField(leaf.name, leaf.label, "line", "")
    text = value if isinstance(value, str) else json.dumps(value)
    is_long = len(text) > LINE or "\n" in text
    marked = mark_line_ends(text)
    hidden = marked if marked != text or text != text.strip() else ""
    kind = "text" if is_long else "line"
    return EditField(leaf.name, leaf.label, kind, text, marked=hidden)


def _choices(leaf: _Leaf) -> tuple[tuple[str, str], ...]:
    listed = leaf.place.choices
    if isinstance(leaf.value, bool) and not listed:
        listed = [True, False]
    if not listed or len(listed) > MOST_CHOICES or any(isinstance(v, dict | list) for v in listed):
        return ()
    offered = listed if leaf.value in listed else [leaf.value, *listed]
    return tuple((json.dumps(value), value_in_words(value)) for value in offered)


def _value(leaf: _Leaf, text: str) -> Json:
    """Parse a field's text as the type that the value had or that the schema accepts."""
    allowed = leaf.place.types or {json_type_of(leaf.value)}
    if isinstance(leaf.value, str) and not _choices(leaf):
        return text
    try:
        read = json_input.read_json(text, parse_constant=_no_number)
    except ValueError:
        return text
    return read if json_type_of(read) in allowed else text


def _typed(leaf: _Leaf, text: str) -> str:
    """Return the typed text; a line that was not changed ends as it did."""
    is_text = isinstance(leaf.value, str) and not _choices(leaf)
    return keep_line_ends(leaf.value, text) if is_text else _lines(text)


def _no_number(name: str) -> Json:
    raise ValueError(name)


def _lines(text: str) -> str:
    """Normalise the line ends that forms send."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _put(params: Json, path: Path, value: Json) -> Json:
    if not path:
        return value
    place = params
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return params
