"""The parts of a session's events that the wire is built from: plain values, so the fold stays pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]

APPROVAL, QUESTION = "tool-approval", "question"

#: Notes of the door: a message was taken as an answer, turn cancelled, context cleared, idle.
TYPED = "door.typed"
CANCELLED = "door.cancelled"
CLEARED = "door.cleared"
AT_REST = "door.at_rest"


@dataclass(frozen=True)
class LoggedRequest:
    """One request to a person. ``wire`` is the protocol's InputRequest as it is sent."""

    ask_id: int
    wire: Json
    step: int = 0

    @property
    def request_id(self) -> str:
        return str(self.wire["requestId"])

    @property
    def kind(self) -> str:
        return str(self.wire["kind"])


@dataclass(frozen=True)
class Decided:
    """A verdict. ``approves`` says what an approval's option means."""

    option: str
    text: str
    approves: bool


@dataclass(frozen=True)
class Happened:
    """One event. The wire's ids and times are derived from ``pk`` and ``at``.

    ``request`` is set for events of an ask, ``decided`` for a verdict. ``is_the_end`` marks the
    event that ended the session for good.
    """

    pk: int
    at: datetime
    kind: str
    run: int | None = None
    text: str = ""
    data: Json = field(default_factory=dict)
    request: LoggedRequest | None = None
    decided: Decided | None = None
    is_the_end: bool = False
    actor: str = ""


@dataclass(frozen=True)
class About:
    """The names of a session that its events carry. They never change."""

    session_id: str
    token: str
    agent_id: str
