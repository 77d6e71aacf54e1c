"""Bind an answer to the exact action, the policy and the run of the question.

The action hash is SHA-256 over the RFC 8785 canonical JSON of {"operation", "params"}, with "files"
if file content is bound too, and has the prefix ``v1:``. NaN, infinities and values that JSON cannot
represent are rejected, never rounded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import rfc8785
from django.utils.translation import gettext as _

from agents.lifecycle import RunStatus
from agents.models import Agent, Run, Session
from agents.text.canonical_json import Json
from agents.text.storable import is_storable
from asks.actions import bound_files
from asks.drafts import ActionDraft
from asks.models import Ask, Gate
from asks.policies import versions
from asks.policies.versions import Ruling

PREFIX = "v1:"
MAX_DEPTH = 32
MAX_BYTES = 256 * 1024
MAX_KEYS = 10_000
#: The largest integer that every JSON parser keeps exactly.
LARGEST = 2**53 - 1


class Unhashable(ValueError):
    """Params that have no canonical form. The message says why."""


@dataclass(frozen=True)
class Binding:
    """The values that are shown with an approval and that its answer must echo."""

    action_hash: str
    policy_version: int
    run_version: str

    def as_echo(self) -> dict[str, Any]:
        return asdict(self)


NAMES = tuple(field.name for field in fields(Binding))


@dataclass(frozen=True)
class BoundAction:
    """An action with the digests of the files it names, read and hashed once per raise."""

    operation: str
    params: Json
    files: dict[str, str]
    digest: str


def bind_action(agent: Agent, action: ActionDraft, ruling: Ruling) -> BoundAction:
    """Bind an action to its params and to the present content of its files. Raises Unhashable."""
    files = bound_files.hash_files(agent, action, ruling)
    digest = action_hash(action.operation, action.params, files)
    return BoundAction(action.operation, action.params, files, digest)


def action_hash(operation: str, params: Json, files: Mapping[str, str] | None = None) -> str:
    """Return the digest of an action and of the files it names. Raises Unhashable."""
    action = {"operation": operation, "params": params}
    whole = {**action, "files": dict(files)} if files else action
    return PREFIX + hashlib.sha256(canonical_action_json(whole)).hexdigest()


def canonical_action_json(value: Json) -> bytes:
    """Return RFC 8785 canonical JSON. Raises Unhashable if there is none, or beyond a limit above."""
    _check(value)
    try:
        encoded = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise Unhashable(_("This is not JSON: {error}.").format(error=error)) from error
    if len(encoded) > MAX_BYTES:
        why = _("The params have {size} bytes; the limit is {most}.")
        raise Unhashable(why.format(size=len(encoded), most=MAX_BYTES))
    return encoded


def _check(value: Json) -> None:
    keys, waiting = 0, [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            why = _("The params are nested deeper than {most} levels.")
            raise Unhashable(why.format(most=MAX_DEPTH))
        inner = _inside(part)
        keys += len(inner)
        if keys > MAX_KEYS:
            why = _("The params have more than {most} keys and items.")
            raise Unhashable(why.format(most=MAX_KEYS))
        waiting.extend((piece, depth + 1) for piece in inner)
        _check_piece(part)


def _inside(part: Json) -> Sequence[Any]:
    if isinstance(part, dict):
        return list(part.values())
    return part if isinstance(part, list | tuple) else ()


def _check_piece(part: Json) -> None:
    texts = part if isinstance(part, dict) else [part]
    if any(isinstance(text, str) and not is_storable(text) for text in texts):
        raise Unhashable(_("A text contains a character that cannot be stored."))
    if isinstance(part, float) and not math.isfinite(part):
        raise Unhashable(_("{value} is not a number in JSON.").format(value=part))
    if isinstance(part, int) and abs(part) > LARGEST:
        raise Unhashable(_("An integer is larger than 2^53 - 1. Send it as text."))


def run_version(run: Run) -> str:
    """Return "number.epoch" of a run. It changes with every new run and every takeover.

    A queued run already has the version of its next claim.
    """
    return f"{run.number}.{run.epoch + (run.status == RunStatus.QUEUED)}"


def newest_run(session: Session, known: Run) -> Run:
    """Return the newest run of a locked session. No query is needed if ``known`` is the newest."""
    if known.number == session.run_count:
        return known
    return Run.objects.get(session=session, number=session.run_count)


def gate_of(ask: Ask) -> Gate | None:
    return getattr(ask, "gate", None)


def shown_binding(gate: Gate) -> Binding:
    """Return the binding that was shown with the question."""
    return Binding(gate.action_hash, gate.policy_version, gate.run_version)


def present_binding(session: Session, ask: Ask, gate: Gate) -> Binding:
    """Return the binding under the present file content, policy and newest run."""
    files = bound_files.rehash_files(session.agent, gate.files)
    digest = action_hash(gate.operation, restore_params(gate.params), files)
    return binding_now(session, ask, digest)


def binding_now(session: Session, ask: Ask, digest: str) -> Binding:
    """Return the binding of an action with this digest under the present policy and newest run."""
    return Binding(
        digest,
        versions.version_in_force(ask.agent_id),
        run_version(newest_run(session, ask.run)),
    )


def restore_params(params: Json) -> Json:
    """Return params as they were before PostgreSQL stored them: it writes 1e21 as an integer.

    ``bind_action`` rejects integers that large, so the value must have been a float.
    """
    if isinstance(params, dict):
        return {key: restore_params(inner) for key, inner in params.items()}
    if isinstance(params, list):
        return [restore_params(inner) for inner in params]
    if isinstance(params, int) and not isinstance(params, bool) and abs(params) > LARGEST:
        return float(params)
    return params


def is_complete_echo(echo: object) -> bool:
    """Whether an echo has a value for every part of a binding."""
    return all(_part(echo, name) for name in NAMES)


def echo_matches(echo: object, binding: Binding) -> bool:
    """Whether an echo equals a binding. A form may echo numbers as text."""
    return all(_part(echo, name) == str(value) for name, value in binding.as_echo().items())


def _part(echo: object, name: str) -> str:
    value = echo.get(name) if isinstance(echo, dict) else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return str(value)
    return value if isinstance(value, str) else ""
