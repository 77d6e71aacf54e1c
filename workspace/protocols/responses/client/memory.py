"""What is remembered of a conversation with a remote agent, in its session's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from workspace.protocols.responses.client.dialects import RemoteQuestion

REMEMBERED = 200
PLACE = "remote"


class UnderWay(BaseModel):
    """A request that was sent, or is about to be. ``response`` is empty until the server named it.

    ``batch`` says which of what the turn was given it carries.
    """

    batch: list[str] = []
    response: str = ""


class UnsentInput(BaseModel):
    """A request of which nobody knows what became, kept until its owner says."""

    body: dict[str, Any]
    calls: list[str] = []
    said: str = ""


class ResponsesMemory(BaseModel):
    """``sends`` counts what the server has taken; ``last`` is the response that words follow.

    ``pending`` are questions by their keys, ``held`` answers to some of several, ``answered`` the
    call_ids that were sent and taken, ``marks`` the questions of theirs: none is answered twice.
    ``done`` is what the turn has carried already.
    """

    sends: int = 0
    last: str = ""
    conversation: str = ""
    first: Any = None
    pending: dict[str, RemoteQuestion] = {}
    held: dict[str, tuple[str, str]] = {}
    answered: list[str] = []
    marks: list[str] = []
    done: list[str] = []
    under_way: UnderWay | None = None
    unsent: UnsentInput | None = None

    def taken(self, calls: Sequence[str]) -> None:
        """The server has taken the answers to these questions."""
        done = [found.mark for found in self.pending.values() if found.call_id in calls]
        self.answered = [*self.answered, *calls][-REMEMBERED:]
        self.marks = [*self.marks, *done][-REMEMBERED:]
        self.pending = {
            key: found for key, found in self.pending.items() if found.call_id not in calls
        }
        self.held = {key: value for key, value in self.held.items() if key in self.pending}
