"""What is remembered of a session with a remote eve agent, in its session's data."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from workspace.protocols.eve.client.requests import RemoteRequest

PLACE = "eve-remote"


class UnsentToEve(BaseModel):
    """Something of which nobody knows what became, kept until its owner says."""

    body: dict[str, Any]
    said: str = ""


class EveMemory(BaseModel):
    """``cursor`` is the index of the next event to read; ``resting`` says that what was read so far
    ends where the agent waits. ``pending`` are requests by their keys, ``held`` words that wait
    until nothing is pending, ``done`` what the turn has sent already. ``sending`` is what was about
    to be sent when it was last written down; ``expecting`` that it was taken, and nothing was heard
    of that yet.
    """

    session_id: str = ""
    token: str = ""
    version: int = 0
    cursor: int = 0
    resting: bool = True
    pending: dict[str, RemoteRequest] = {}
    held: list[str] = []
    done: list[str] = []
    sending: str = ""
    expecting: bool = False
    unsent: UnsentToEve | None = None
    asked_owner: int = 0
    first: str = ""

    def forget(self) -> None:
        """The next thing that is said opens a session of its own."""
        self.session_id, self.token, self.cursor, self.resting = "", "", 0, True
        self.pending, self.sending, self.expecting = {}, "", False
