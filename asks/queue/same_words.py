"""Questions of protocols without ids: the same words in a session are the same question.

An equal open question is joined, not asked twice. A question that was asked three times within an hour
is not asked again: the agent ignores its answers, so it is stopped until a person resumes it.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agents import controls
from agents.db import statements
from agents.events.log import record_event
from agents.locking import LockedSession
from agents.models import Run
from agents.text.storable import make_storable
from asks.drafts import AskDraft
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.queue.earlier_answers import likeness_of

MOST_TIMES = 3
WITHIN = timedelta(hours=1)


def equal_asks(session: LockedSession, draft: AskDraft) -> QuerySet[Ask]:
    """Return the asks of a session with the words and options of a draft, newest first."""
    prompt = make_storable(draft.prompt).strip()
    same = Ask.objects.filter(session=session, likeness=likeness_of(draft, prompt), gate=None)
    return same.exclude(status=AskStatus.SUPERSEDED).select_related("run").order_by("-pk")


def join_open(session: LockedSession, run: Run, draft: AskDraft) -> Ask | None:
    """Let a run wait for an equal open ask of the session. Return the ask, or None if there is none.

    An ask that bars whoever started its run is not joined: another person may have started this one.
    """
    equal = equal_asks(session, draft).filter(status=AskStatus.OPEN, barred=[]).first()
    if equal is None or equal.terms.get("four_eyes"):
        return None
    if equal.run_id != run.pk:
        equal.run.open_asks -= 1
        statements.update(equal.run, ["open_asks"])
        equal.run = run
        statements.update(equal, ["run"])
        run.open_asks += 1
        statements.update(run, ["open_asks"])
    _say(session, run, draft, _("it is open already, so it is not asked twice"))
    return equal


def brake(session: LockedSession, run: Run, draft: AskDraft) -> bool:
    """Pause a session whose agent asks the same again and again. Return whether it does."""
    since = session.locked_at - WITHIN
    times = equal_asks(session, draft).filter(opened_at__gt=since).count()
    if times < MOST_TIMES:
        return False
    _say(session, run, draft, _("it was asked {times} times within an hour").format(times=times))
    text = _(
        "It asked the same question {times} times within an hour, whatever the answer, and was "
        "paused: “{question}”. A person resumes it."
    )
    question = " ".join(draft.prompt.split())[:200]
    reason = text.format(times=times, question=question)
    record_event(session, "notice", actor="system", run=run, text=reason)
    controls.pause_session(session, reason=reason[:300], actor="system")
    return True


def _say(session: LockedSession, run: Run, draft: AskDraft, why: str) -> None:
    record_event(
        session, "ignored", actor="system", run=run, text=draft.prompt[:2000], data={"why": why}
    )
