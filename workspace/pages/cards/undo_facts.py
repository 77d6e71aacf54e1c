"""What a page shows of an undo window."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.middleware.csrf import get_token

from agents.db.expressions import database_now
from asks.models import Ask, UndoWindow


@dataclass(frozen=True)
class UndoFacts:
    """The verdict that the reader can take back, for how long, and the token of the forms."""

    verdict_id: int
    milliseconds: int
    csrf: str

    @property
    def seconds(self) -> int:
        return ceil(self.milliseconds / 1000)


def undo_of(request: HttpRequest, person: User, ask: Ask) -> UndoFacts | None:
    """Return the undo window of an ask's verdict, if the reader pressed and it is still open."""
    if ask.verdict_id is None:
        return None
    return undo_of_verdict(request, person, ask.verdict_id)


def undo_of_verdict(request: HttpRequest, person: User, verdict_id: int) -> UndoFacts | None:
    """Return the undo window of a verdict, if the reader pressed and it is still open."""
    windows = UndoWindow.objects.filter(pressed_by=person.pk, delivered_at=None)
    window = windows.filter(verdict=verdict_id, verdict__retraction=None).first()
    left = (window.until - database_now()).total_seconds() if window else 0
    return UndoFacts(verdict_id, int(left * 1000), get_token(request)) if left > 0 else None
