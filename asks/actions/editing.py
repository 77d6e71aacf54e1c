"""Validate a call that an owner edits before approving it, and hash the edited action.

Types are kept: a number stays a number and null stays null, unless the tool's schema names the types
of that place. Properties can be added or removed only if the schema defines them. The name of a bound
file cannot change, because the file's content is part of the binding. A local tool judges the edited
call itself, by everything that it checks when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.text import key_order
from agents.text.canonical_json import Json
from asks.actions import binding, bound_files, schema, tool_judgement
from asks.actions.schema import Flaw, join_path
from asks.actions.schema_lookup import SchemaPlace, json_type_of
from asks.models import Ask, Gate
from asks.policies import versions

_TYPE_NAMES = {
    "string": gettext_noop("text"),
    "number": gettext_noop("a number"),
    "boolean": gettext_noop("true or false"),
    "null": gettext_noop("null"),
    "array": gettext_noop("a list"),
    "object": gettext_noop("an object"),
}


def asked_params(gate: Gate) -> Json:
    """Return the params shown with the question, in the order in which the agent sent them."""
    return key_order.in_order(binding.restore_params(gate.params), gate.params_order)


def edited_action_hash(gate: Gate, params: Json) -> str:
    """Return the digest of a gate's action with other params. Raises binding.Unhashable."""
    return binding.action_hash(gate.operation, params, gate.files)


def is_edited(gate: Gate, params: Json) -> bool:
    """Whether these params differ from the ones shown with the question."""
    try:
        return edited_action_hash(gate, params) != edited_action_hash(gate, asked_params(gate))
    except binding.Unhashable:
        return True


def find_edit_flaws(ask: Ask, gate: Gate, params: Json) -> list[Flaw]:
    """Return the errors of edited params, one for each path. Empty if they can be approved."""
    try:
        edited_action_hash(gate, params)
    except binding.Unhashable as error:
        return [Flaw("", str(error))]
    flaws = list(_moved(asked_params(gate), params, SchemaPlace(gate.schema, gate.schema), ""))
    judged = tool_judgement.judge_by_tool(ask.agent, gate.operation, params)
    if gate.schema is not None:
        # A local tool reads more forms of a date than JSON Schema names: it judges those itself.
        flaws += schema.find_flaws(gate.schema, params, with_formats=judged is None)
    flaws += _other_files(ask, gate, params)
    flaws += judged or []
    return list({flaw.path: flaw for flaw in reversed(flaws)}.values())[::-1]


def _moved(before: Json, now: Json, place: SchemaPlace, path: str) -> Iterator[Flaw]:
    """Yield an error for each changed type, and for each missing or unknown name."""
    allowed = place.types or {json_type_of(before)}
    if json_type_of(now) not in allowed:
        types = _(" or ").join(_(_TYPE_NAMES[name]) for name in sorted(allowed))
        yield Flaw(path, _("It must be {}.").format(types))
    elif isinstance(now, dict):
        yield from _names(before if isinstance(before, dict) else {}, now, place, path)
    elif isinstance(now, list):
        yield from _items(before if isinstance(before, list) else [], now, place, path)


def _names(
    before: dict[str, Json], now: dict[str, Json], place: SchemaPlace, path: str
) -> Iterator[Flaw]:
    for name in sorted(before.keys() - now.keys() - place.names):
        yield Flaw(join_path(path, name), _("It is missing."))
    for name, value in now.items():
        here = place.member(name)
        if name in before:
            yield from _moved(before[name], value, here, join_path(path, name))
        elif here.here is None:
            yield Flaw(join_path(path, name), _("The agent did not send this value."))


def _items(before: list[Json], now: list[Json], place: SchemaPlace, path: str) -> Iterator[Flaw]:
    for number, value in enumerate(now):
        here, at = place.item(number), f"{path}[{number}]"
        if before:
            yield from _moved(before[min(number, len(before) - 1)], value, here, at)
        elif here.here is None:
            yield Flaw(at, _("It is not known what this list may contain."))


def _other_files(ask: Ask, gate: Gate, params: Json) -> list[Flaw]:
    """Return an error for each param whose file names changed.

    The policy in force is the one that the ask was bound to: otherwise its answer is stale.
    """
    rule = versions.policy_in_force(ask.agent_id).document.rule_for(gate.operation)
    why = _("It names a file whose content is bound. Approve or deny the call as it is.")
    return [
        Flaw(name, why)
        for name in (rule.bind_files if rule else ())
        if bound_files.files_named_in(params, [name])
        != bound_files.files_named_in(asked_params(gate), [name])
    ]
