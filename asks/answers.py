"""What a person submits, before anything judges it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from agents.text.canonical_json import Json
from agents.text.storable import is_storable
from asks.signed_channel.proof import Proof

#: Characters of an answer in words.
MAX_TEXT = 16_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person submits: an option's key, words, and the binding as it was shown to them.

    ``proof`` is their signature over exactly this; no door can hand one in. ``authenticated_at`` is
    when they last proved who they are to the door, where a door knows that. ``edited`` are params
    to approve instead of those that were shown; None for those.
    """

    by: AbstractBaseUser
    option: str = ""
    text: str = ""
    echo: dict[str, Any] | None = None
    via: str = "page"
    proof: Proof | None = None
    authenticated_at: datetime | None = None
    edited: Json = None

    @property
    def flaw(self) -> str:
        """Why this cannot be kept as it is, in words; empty when it can."""
        said: tuple[object, ...] = (self.option, self.text)
        if not all(isinstance(part, str) for part in said):
            return "An answer is text."
        if not is_storable(self.option + self.text):
            return "The answer holds a character that cannot be kept."
        if len(self.text) > MAX_TEXT:
            return f"The answer has {len(self.text)} characters; {MAX_TEXT} are the most."
        return ""
