"""What of a session's events the wire is made from: plain values, so that the fold is a pure function."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]

APPROVAL, QUESTION = "tool-approval", "question"

#: What the door notes in the log beside the runtime: that what follows comes of a message that was
#: taken as an answer, that the turn is off, that all before is forgotten, that nothing comes for now.
TYPED = "door.typed"
CANCELLED = "door.cancelled"
CLEARED = "door.cleared"
AT_REST = "door.at_rest"


@dataclass(frozen=True)
class LoggedRequest:
    """One request for a person's word: ``wire`` is the protocol's InputRequest, as it is sent."""

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
    """One event. ``pk`` and ``at`` make the wire's ids and times.

    ``request`` is there for events of an ask, ``decided`` for a verdict. ``is_the_end`` marks the
    event with which the session ended for good.
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
    """What every event of a session's stream may say of it: nothing of this ever changes."""

    session_id: str
    token: str
    agent_id: str
