"""A press with an undo window, and the time passing, for tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F

from agents.jobs import tick
from agents.models import Session
from asks.answering import Answered, answer_ask
from asks.models import Ask, UndoWindow, Verdict
from asks.undo.retracting import Retracted, retract_verdict
from tests.factories import echo_of

WINDOW = timedelta(seconds=20)


def press(ask: Ask, by: User, option: str = "", **more: Any) -> Verdict:
    """Answer an ask as its page does: with a window. By default with its first option."""
    first = ask.options.order_by("position").first()
    chosen = option or (first.key if first and "text" not in more else "")
    if hasattr(ask, "gate"):
        more.setdefault("echo", echo_of(ask))
    more.setdefault("undo", WINDOW)
    result = answer_ask(ask_id=ask.pk, by=by, option=chosen, **more)
    assert isinstance(result, Answered), result
    return result.verdict


def take_back(verdict: Verdict, by: User) -> Ask:
    result = retract_verdict(verdict_id=verdict.pk, by=by)
    assert isinstance(result, Retracted), result
    return Ask.objects.get(pk=verdict.ask_id)


def pass_window(session: Session) -> None:
    """Let the time of every open window of a session pass."""
    long = timedelta(minutes=5)
    open_ones = UndoWindow.objects.filter(session=session, delivered_at=None)
    open_ones.filter(verdict__retraction=None).update(until=F("until") - long)
    Session.objects.filter(pk=session.pk).update(held_until=F("held_until") - long)


def wait_out(session: Session) -> None:
    """Let the window pass, and have a worker look what is due."""
    pass_window(session)
    tick.run_tick()
    session.refresh_from_db()
