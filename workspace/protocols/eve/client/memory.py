"""The state that a session keeps of its remote eve session, in the session's data."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from workspace.protocols.eve.client.requests import RemoteRequest

PLACE = "eve-remote"


class UnsentToEve(BaseModel):
    """A message whose fate is unknown, kept until the owner decides."""

    body: dict[str, Any]
    said: str = ""


class EveMemory(BaseModel):
    """The state of a remote eve session.

    ``cursor`` is the index of the next event to read. ``resting``: the events read so far end with
    the agent idle. ``pending`` are requests by their keys, ``held`` messages that wait until none
    is pending, ``done`` the digests of inputs already sent. ``sending`` describes the message being
    sent; ``expecting``: it was accepted, and no event has followed yet.
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
        """Forget the remote session. The next message creates a new one."""
        self.session_id, self.token, self.cursor, self.resting = "", "", 0, True
        self.pending, self.sending, self.expecting = {}, "", False
