"""The state that a session keeps of its remote leaf harness, stored in the session's data."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class LeafMemory(BaseModel):
    """The last known state of a session at its harness.

    ``parked`` is the gate at which the session last waited. ``unsent`` is a decision that the
    harness has not been seen to accept.
    """

    name: str = ""
    starts: int = 1
    parked: int | None = None
    summary: str = ""
    proposed_action: str = ""
    binding: dict[str, Any] | None = None
    unsent: dict[str, Any] | None = None
