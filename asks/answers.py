"""An answer as a person submits it, before any check."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents.text.canonical_json import Json
from agents.text.storable import is_storable
from asks.signed_channel.proof import Proof

#: Characters of an answer's text.
MAX_TEXT = 16_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A submitted answer: an option's key, a text, and the binding that was shown.

    ``proof`` is the person's signature over this answer; only ``answer_signed`` passes one.
    ``authenticated_at`` is when the person last signed in, if the caller knows it. ``edited`` are
    the params to approve instead of the ones shown; None approves the ones shown.
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
        """Why this cannot be stored; empty if it can."""
        parts: tuple[object, ...] = (self.option, self.text)
        if not all(isinstance(part, str) for part in parts):
            return _("An answer must be text.")
        if not is_storable(self.option + self.text):
            return _("The answer contains a character that cannot be stored.")
        if len(self.text) > MAX_TEXT:
            text = _("The answer has {count} characters. The maximum is {most}.")
            return text.format(count=len(self.text), most=MAX_TEXT)
        return ""
