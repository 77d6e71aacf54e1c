"""Hold a verdict for some seconds, in which the person who pressed can take it back.

The verdict is durable at once: it is stored, its ask is answered, and the ledger has its record. The
agent gets it when the window ends. Until then its run waits on, nothing is in the inbox, no grant
exists, nothing is reported outside, and nothing else starts the session (``Session.held_until``).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from agents import actors, next_run
from agents.events.log import record_event
from agents.locking import LockedSession
from agents.models import Run
from asks import closing, verdict_delivery
from asks.actions import binding, grant_ends, grants
from asks.lifecycle import CONFIDENTIAL, AskStatus, Meaning
from asks.models import Ask, Grant, GrantEnd, UndoWindow, Verdict, Vote

#: The longest window.
LONGEST = timedelta(seconds=30)


def hold_verdict(
    session: LockedSession,
    ask: Ask,
    verdict: Verdict,
    *,
    window: timedelta,
    pressed_by: AbstractBaseUser,
    vote: Vote | None = None,
) -> None:
    """Hold a verdict that was just recorded, and schedule the moment at which it takes effect."""
    until = session.locked_at + min(window, LONGEST)
    UndoWindow.objects.create(
        verdict=verdict, session=session, pressed_by_id=pressed_by.pk, vote=vote, until=until
    )
    data: dict[str, int | str] = {"ask_id": ask.pk}
    text = _("Answered. It takes effect in a few seconds.")
    if not ask.confidential:
        data["label"], data["text"] = verdict.option_label, verdict.text
    author = actors.human(verdict.decided_by)
    record_event(session, "pressed", actor=author, text=text, run=ask.run, data=data)
    next_run.hold_session(session, until)
    next_run.queue_next_run(session)


def deliver_now(session: LockedSession, ask: Ask, verdict: Verdict) -> None:
    """Let a verdict take effect: release its run, mint its grant, and put it into the inbox."""
    author = actors.human(verdict.decided_by)
    closing.release_run(session, ask.run)
    gate = binding.gate_of(ask)
    if gate is not None and verdict.meaning == Meaning.APPROVE:
        grants.mint_grant(session, ask, gate, verdict.edit)
    item = verdict_delivery.deliver_verdict(session, ask, verdict, author=author)
    data, text = verdict_delivery.verdict_data(ask, verdict), item.body
    if ask.confidential:
        data, text = {"ask_id": ask.pk}, _(CONFIDENTIAL)
    record_event(session, "verdict", actor=author, text=text, run=ask.run, data=data)


def release_held(session: LockedSession) -> None:
    """Let every verdict that a session holds take effect. Call ``queue_next_run`` next."""
    runs: dict[int, Run] = {}
    for window in open_windows(session):
        window.until, window.delivered_at = min(window.until, session.locked_at), session.locked_at
        window.save(update_fields=["until", "delivered_at"])
        ask = window.verdict.ask
        ask.agent, ask.run = session.agent, runs.setdefault(ask.run_id, ask.run)
        deliver_now(session, ask, window.verdict)
        _lapse_if_written_to(session, ask)
        closing.wake_for_ask(session, ask)


def _lapse_if_written_to(session: LockedSession, ask: Ask) -> None:
    """End the grant of an approval if somebody wrote to the session after the press.

    A message ends every live grant. This one did not exist yet.
    """
    pressed = session.events.filter(kind="pressed", data__ask_id=ask.pk).order_by("seq").last()
    since = pressed.seq if pressed else 0
    message = session.events.filter(kind="message", seq__gt=since).order_by("seq").last()
    if message is not None:
        minted = Grant.objects.filter(ask=ask).select_related("ask", "run")
        grant_ends.lapse_grants(session, minted, GrantEnd.MESSAGE, actor=message.actor)


def open_windows(session: LockedSession) -> QuerySet[UndoWindow]:
    """Return the windows of a session whose verdicts have neither taken effect nor been taken back."""
    windows = UndoWindow.objects.filter(
        session=session, delivered_at=None, verdict__retraction=None
    )
    return windows.select_related(
        "verdict__ask__run", "verdict__ask__gate", "verdict__option", "verdict__decided_by"
    ).order_by("verdict")


def store_last_end(session: LockedSession) -> None:
    """Hold a session until the last of its windows ends; not at all if none is open."""
    session.held_until = open_windows(session).aggregate(last=Max("until"))["last"]


def held_until(ask: Ask) -> datetime | None:
    """Return when the verdict of an ask takes effect, if it has not yet."""
    if ask.status != AskStatus.ANSWERED or ask.verdict_id is None:
        return None
    window = UndoWindow.objects.filter(verdict=ask.verdict_id, delivered_at=None).first()
    return window.until if window else None
