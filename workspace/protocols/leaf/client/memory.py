"""What a leaf session remembers of its harness between turns."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class LeafMemory(BaseModel):
    """What a session keeps of its harness: ``parked`` is the gate it last waited at, ``unsent`` a
    decision that the harness has not been seen to take."""

    name: str = ""
    starts: int = 1
    parked: int | None = None
    summary: str = ""
    proposed_action: str = ""
    binding: dict[str, Any] | None = None
    unsent: dict[str, Any] | None = None
