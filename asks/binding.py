"""What an answer is bound to: the exact action, the policy and the run it was asked in.

The action hash is SHA-256 over the RFC 8785 canonical JSON of {"operation", "params"}, with the
prefix ``v1:``. NaN, infinities and what JSON cannot say are refused, never rounded.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import rfc8785

from agents.models import Run
from asks import policies
from asks.models import Ask, Gate

PREFIX = "v1:"
MAX_DEPTH = 32
MAX_BYTES = 256 * 1024
MAX_KEYS = 10_000


class Unhashable(ValueError):
    """Params that have no canonical form, with what is wrong with them."""


@dataclass(frozen=True)
class Binding:
    """What was shown with an approval and must come back with its answer."""

    action_hash: str
    policy_version: int
    run_version: str

    def as_echo(self) -> dict[str, Any]:
        return asdict(self)


def action_hash(operation: str, params: Any) -> str:
    """The digest of an action. Raises Unhashable."""
    return PREFIX + hashlib.sha256(canonical({"operation": operation, "params": params})).hexdigest()


def canonical(value: Any) -> bytes:
    """RFC 8785 canonical JSON. Raises Unhashable beyond the bounds above."""
    _check_bounds(value)
    try:
        encoded = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise Unhashable(str(error)) from error
    except UnicodeEncodeError as error:
        raise Unhashable("A text holds half of a character.") from error
    if len(encoded) > MAX_BYTES:
        raise Unhashable(f"The params are {len(encoded)} bytes; {MAX_BYTES} are the most.")
    return encoded


def _check_bounds(value: Any) -> None:
    keys, waiting = 0, [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Unhashable(f"The params are nested deeper than {MAX_DEPTH}.")
        if isinstance(part, dict):
            keys += len(part)
            waiting.extend((inner, depth + 1) for inner in part.values())
        elif isinstance(part, list | tuple):
            keys += len(part)
            waiting.extend((inner, depth + 1) for inner in part)
        if keys > MAX_KEYS:
            raise Unhashable(f"The params have more than {MAX_KEYS} keys and items.")


def run_version(run: Run) -> str:
    """Which claim of which run: it moves with every new run and every take-over."""
    return f"{run.number}.{run.epoch}"


def of_gate(gate: Gate) -> Binding:
    """The binding as it was shown."""
    return Binding(gate.action_hash, gate.policy_version, gate.run_version)


def present(ask: Ask, gate: Gate) -> Binding:
    """The binding as the world is now: the session's newest run and the policy in force."""
    newest = Run.objects.filter(session_id=ask.session_id).order_by("-number").first()
    return Binding(
        action_hash(gate.operation, gate.params),
        policies.version_in_force(ask.agent_id),
        run_version(newest or ask.run),
    )


def matches(echo: dict[str, Any], binding: Binding) -> bool:
    """Whether an echo says exactly this binding. Numbers may come back from a form as text."""
    return {key: str(echo.get(key, "")) for key in binding.as_echo()} == {
        key: str(value) for key, value in binding.as_echo().items()
    }
