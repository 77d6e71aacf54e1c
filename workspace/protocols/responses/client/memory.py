"""The state that a session keeps of its conversation with a remote agent, in the session's data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from workspace.protocols.responses.client.dialects import RemoteQuestion

#: How many answered questions are remembered.
REMEMBERED = 200
PLACE = "remote"


class UnderWay(BaseModel):
    """A request that was sent, or is about to be.

    ``response`` is empty until the server names it. ``batch`` are the digests of the turn's inputs
    that the request carries.
    """

    batch: list[str] = []
    response: str = ""


class UnsentInput(BaseModel):
    """A request whose fate is unknown, kept until the owner decides."""

    body: dict[str, Any]
    calls: list[str] = []
    said: str = ""


class ResponsesMemory(BaseModel):
    """The state of a conversation.

    ``sends`` counts requests, ``last`` is the response that the next message follows, ``first`` the
    first input. ``pending`` are questions by their keys, ``held`` answers that wait for others of
    the same response. ``answered`` are the call_ids of accepted answers, ``marks`` the digests of
    their questions: none is answered twice. ``done`` are the digests of inputs already sent.
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
        """Record that the server has accepted the answers to these questions."""
        done = [asked.mark for asked in self.pending.values() if asked.call_id in calls]
        self.answered = [*self.answered, *calls][-REMEMBERED:]
        self.marks = [*self.marks, *done][-REMEMBERED:]
        self.pending = {
            key: asked for key, asked in self.pending.items() if asked.call_id not in calls
        }
        self.held = {key: value for key, value in self.held.items() if key in self.pending}
