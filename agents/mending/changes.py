"""Report each change of an agent to the ledger, which is above this layer, in the same transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from agents.models import Agent


@dataclass(frozen=True)
class AgentChange:
    """What a person changed: ``what`` is one word, ``fields`` is {name: [old, new]}, without secrets.

    ``by`` is None if a command without a person did it.
    """

    agent: Agent
    what: str
    by: AbstractBaseUser | None
    fields: dict[str, list[Any]] = field(default_factory=dict)


Recorder = Callable[[AgentChange], None]
_recorders: list[Recorder] = []


def register_recorder(recorder: Recorder) -> None:
    """Register what records changes of agents. The ledger is above this layer."""
    _recorders[:] = [recorder]


def record_change(change: AgentChange) -> None:
    """Record a change in the caller's transaction."""
    for recorder in _recorders:
        recorder(change)


def record_lifecycle(agent: Agent, what: str, by: AbstractBaseUser, before: str) -> None:
    """Record that a person moved an agent from the state ``before`` to its present one."""
    fields = {"lifecycle": [str(before), str(agent.lifecycle)]}
    record_change(AgentChange(agent, what, by, fields))
