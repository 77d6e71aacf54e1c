"""How long a person can take back an answer that they gave on a page."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser

from asks.undo.holding import LONGEST
from workspace.models import UndoPreference


def undo_window_of(person: AbstractBaseUser) -> timedelta:
    """Return how long a person can take an answer back; zero if answers take effect at once."""
    chosen = UndoPreference.objects.filter(person=person.pk).values_list("seconds", flat=True)
    seconds = next(iter(chosen), settings.NEEDS_YOU_UNDO_SECONDS)
    return min(timedelta(seconds=max(seconds, 0)), LONGEST)


def set_undo_window(person: AbstractBaseUser, seconds: int) -> None:
    """Store a person's choice, from 0 to 30 seconds. It counts from the next answer on."""
    UndoPreference.objects.update_or_create(person_id=person.pk, defaults={"seconds": seconds})
