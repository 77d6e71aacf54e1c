"""What a page says about a session: the word on its pill, and why, for its reader and for now.

The stored status is true when the session last changed. A page says what is true when it is read: a
wake may be past, no worker may run, and what waits for a person may wait for somebody else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents.lifecycle import WAITING_FOR_A_WORKER, WORKING, YOU_ARE_THE_BLOCKER, Status
from agents.models import Session
from asks.queue.waits import waits_for_others
from workspace.health.look import recent_health
from workspace.health.presence import status_now


@dataclass(frozen=True)
class Standing:
    """``tone`` names the look of the pill."""

    status: Status
    label: str
    tone: str
    reason: str

    @property
    def is_running(self) -> bool:
        return self.status == Status.RUNNING

    @property
    def waits_for_a_worker(self) -> bool:
        return self.status in WAITING_FOR_A_WORKER

    @property
    def is_working(self) -> bool:
        return self.status in WORKING


def with_standing(sessions: Iterable[Session], reader: AbstractBaseUser) -> list[Session]:
    """Give sessions their standing, for `standing_of`. At most four queries, only if some wait."""
    found = list(sessions)
    waiting = [session.pk for session in found if session.status == Status.WAITING_HUMAN]
    others = waits_for_others(waiting, reader)
    for session in found:
        vars(session)["standing"] = _standing(session, others.get(session.pk, ""))
    return found


def standing_of(session: Session) -> Standing:
    """Return the standing that was given to a session, or else that for one who may answer."""
    given = vars(session).get("standing")
    return given if isinstance(given, Standing) else _standing(session)


def started_words(done: str, agent: str) -> str:
    """Return what a start comes to: ``done``, or that it waits, if no worker runs."""
    if not recent_health().worker_is_alive:
        done = _("{agent} is queued. It starts when a worker runs.")
    return done.format(agent=agent)


def _standing(session: Session, other: str = "") -> Standing:
    now = status_now(session)
    if other:
        label = _("Waits for {people}").format(people=other)
        return Standing(now.status, label, "benign", now.reason)
    return Standing(now.status, str(now.status.label), _tone(now.status), now.reason)


def _tone(status: Status) -> str:
    """Only `blocker` may use the signal colour, and only what runs looks alive."""
    if status in YOU_ARE_THE_BLOCKER:
        return "blocker"
    return "live" if status == Status.RUNNING else "benign"
