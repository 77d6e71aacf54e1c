"""What holds of the whole world after every step, whatever happened in it."""

from __future__ import annotations

from django.db import connection
from django.db.models import Count, F, Max, Min, Q, QuerySet

from agents import tasks
from agents.lifecycle import (
    COMPLETED_OUTCOMES,
    LIVE_RUNS,
    AgentState,
    InboxKind,
    InboxState,
    Outcome,
    RunStatus,
    SessionState,
)
from agents.models import Event, InboxItem, Run, Session
from agents.moves import facts_of
from agents.queueing import may_work
from agents.status import standing
from asks.lifecycle import AskStatus
from asks.models import Ask, Gate, Verdict

STILL_OPEN = Count("asks", filter=Q(asks__status=AskStatus.OPEN))


def check_all() -> None:
    """Every promise, of every row there is."""
    for promise in (
        no_verdict_is_lost,
        nothing_is_held_by_a_run_that_is_over,
        no_session_sleeps_over_something_owed,
        no_back_off_keeps_a_person_waiting,
        one_live_run_each,
        every_queued_run_has_a_job,
        statuses_are_what_they_are_derived_to_be,
        open_asks_are_counted,
        waiting_means_an_open_ask,
        everything_is_numbered_without_gaps,
    ):
        promise()


def no_verdict_is_lost() -> None:
    """Each verdict is owed, or was carried by a run that completed; and it is owed once."""
    items = InboxItem.objects.filter(source_key__regex=r"^ask:\d+$").select_related("leased_by")
    owed = {item.source_key: item for item in items}
    for ask_id in Verdict.objects.values_list("ask_id", flat=True):
        item = owed[f"ask:{ask_id}"]
        assert item.kind == InboxKind.VERDICT
        assert item.state in (InboxState.QUEUED, InboxState.LEASED, InboxState.ACKED)
        if item.state == InboxState.ACKED:
            assert item.leased_by is not None
            assert item.leased_by.outcome in COMPLETED_OUTCOMES


def nothing_is_held_by_a_run_that_is_over() -> None:
    held = InboxItem.objects.filter(state=InboxState.LEASED)
    live = (RunStatus.QUEUED, RunStatus.RUNNING)
    assert not held.exclude(leased_by__status__in=live).exists()


def idle_sessions() -> QuerySet[Session]:
    """Sessions that may work and of which nothing is live."""
    may = Session.objects.filter(state=SessionState.ACTIVE, agent__lifecycle=AgentState.ACTIVE)
    return may.exclude(runs__status__in=LIVE_RUNS)


def no_session_sleeps_over_something_owed() -> None:
    asleep = idle_sessions().filter(wake_at=None)
    assert not asleep.filter(inbox__state=InboxState.QUEUED).exists()


def no_back_off_keeps_a_person_waiting() -> None:
    """What a person said starts a run at once; only a turn that failed on it, or a limit, delays."""
    said = InboxItem.objects.exclude(kind=InboxKind.MAIL).filter(
        state=InboxState.QUEUED, attempts=0, session__in=idle_sessions()
    )
    assert not said.exclude(session__last_outcome=Outcome.RATE_LIMITED).exists()


def one_live_run_each() -> None:
    live = Count("runs", filter=Q(runs__status__in=LIVE_RUNS))
    assert not Session.objects.annotate(live=live).filter(live__gt=1).exists()


def every_queued_run_has_a_job() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (args->>'run_id')::bigint FROM procrastinate_jobs "
            "WHERE task_name = %s AND status = 'todo'",
            [tasks.DISPATCH],
        )
        jobs = {row[0] for row in cursor.fetchall()}
    for run in Run.objects.filter(status=RunStatus.QUEUED).select_related("session__agent"):
        assert may_work(run.session)
        assert run.pk in jobs


def statuses_are_what_they_are_derived_to_be() -> None:
    live = {run.session_id: run for run in Run.objects.filter(status__in=LIVE_RUNS)}
    for session in Session.objects.select_related("agent"):
        derived = standing(facts_of(session, live.get(session.pk)))
        assert (session.status, session.status_reason) == (derived.status, derived.reason)


def open_asks_are_counted() -> None:
    for model in (Session, Run):
        counted = model.objects.annotate(still_open=STILL_OPEN)
        assert not counted.exclude(open_asks=F("still_open")).exists()


def waiting_means_an_open_ask() -> None:
    waiting = Run.objects.filter(status=RunStatus.WAITING_HUMAN).annotate(still_open=STILL_OPEN)
    assert not waiting.filter(still_open=0).exists()
    answered = Ask.objects.filter(status=AskStatus.ANSWERED)
    assert not answered.filter(verdict=None).exists()
    assert not Verdict.objects.exclude(ask__status=AskStatus.ANSWERED).exists()


def everything_is_numbered_without_gaps() -> None:
    """Events and runs count from 1, gates from 0, and the session knows how far they have come."""
    sessions = {session.pk: session for session in Session.objects.all()}
    for model, field, count in (
        (Event, "seq", "last_seq"),
        (Run, "number", "run_count"),
        (Gate, "number", "gate_count"),
    ):
        numbered = model.objects.order_by().values("session").annotate(Min(field), Max(field), n=Count("pk"))
        found = {row["session"]: row for row in numbered}
        for session_id, session in sessions.items():
            row, expected = found.get(session_id), getattr(session, count)
            assert (row["n"] if row else 0) == expected
            if row:
                assert row[f"{field}__max"] - row[f"{field}__min"] + 1 == expected
                assert row[f"{field}__min"] == (0 if model is Gate else 1)
