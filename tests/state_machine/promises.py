"""Invariants that hold after every step. Each promise is a query that must find nothing."""

from __future__ import annotations

from django.db import connection

from agents.lifecycle import LIVE_RUNS
from agents.models import Run, Session
from agents.status import derive_status
from agents.transitions import status_facts

IDLE_SESSIONS = """
    SELECT session.* FROM agents_session session JOIN agents_agent agent ON agent.id = agent_id
    WHERE session.state = 'active' AND agent.lifecycle = 'active' AND NOT EXISTS (
        SELECT FROM agents_run run WHERE run.session_id = session.id
        AND run.status IN ('queued', 'running', 'waiting_human'))
"""

#: Verdicts that have not taken effect: they can be taken back, or were.
HELD = "SELECT verdict_id FROM asks_undowindow WHERE delivered_at IS NULL"
#: What a run waits for: open asks, and answers that can still be taken back.
AWAITED = f"(status = 'open' OR status = 'answered' AND verdict_id IN ({HELD}))"

PROMISES = {
    "a verdict is owed, or was carried by a run that completed": f"""
        SELECT verdict.id FROM asks_verdict verdict
        LEFT JOIN agents_inboxitem item ON item.source_key = 'ask:' || verdict.ask_id
        LEFT JOIN agents_run run ON run.id = item.leased_by_id
        WHERE verdict.id NOT IN ({HELD}) AND (
            item.id IS NULL OR item.state NOT IN ('queued', 'leased', 'acked')
            OR item.state = 'acked' AND run.outcome NOT IN ('WORK_DONE', 'NO_WORK', 'BLOCKED'))
    """,
    "nothing is held by a run that is over": """
        SELECT item.id FROM agents_inboxitem item JOIN agents_run run ON run.id = item.leased_by_id
        WHERE item.state = 'leased' AND run.status NOT IN ('queued', 'running')
    """,
    "no session sleeps over something owed": f"""
        SELECT idle.id FROM ({IDLE_SESSIONS}) idle JOIN agents_inboxitem item
        ON item.session_id = idle.id AND item.state = 'queued' WHERE wake_at IS NULL
    """,
    "only a failure or a limit delays what a person said": f"""
        SELECT idle.id FROM ({IDLE_SESSIONS}) idle JOIN agents_inboxitem item
        ON item.session_id = idle.id AND item.state = 'queued'
        WHERE item.kind <> 'mail' AND item.attempts = 0 AND last_outcome <> 'RATE_LIMITED'
        AND held_until IS NULL
    """,
    "a session has one live run": """
        SELECT session_id FROM agents_run WHERE status IN ('queued', 'running', 'waiting_human')
        GROUP BY session_id HAVING count(*) > 1
    """,
    "a queued run has a job, and may work": """
        SELECT run.id FROM agents_run run JOIN agents_session session ON session.id = session_id
        JOIN agents_agent agent ON agent.id = agent_id
        WHERE run.status = 'queued' AND (
            session.state <> 'active' OR agent.lifecycle <> 'active' OR NOT EXISTS (
                SELECT FROM procrastinate_jobs job
                WHERE job.status = 'todo' AND (job.args->>'run_id')::bigint = run.id))
    """,
    "a session is held exactly while an answer can be taken back": """
        SELECT id FROM agents_session session WHERE held_until IS DISTINCT FROM (
            SELECT max(until) FROM asks_undowindow undo WHERE undo.session_id = session.id
            AND delivered_at IS NULL AND NOT EXISTS (
                SELECT FROM asks_retraction back WHERE back.verdict_id = undo.verdict_id))
    """,
    "the open asks of a session and of a run are counted": f"""
        SELECT id FROM agents_session session WHERE open_asks <> (
            SELECT count(*) FROM asks_ask WHERE session_id = session.id AND status = 'open')
        UNION ALL SELECT id FROM agents_run run WHERE open_asks <> (
            SELECT count(*) FROM asks_ask WHERE run_id = run.id AND {AWAITED})
    """,
    "a run that waits for a person has an open ask": f"""
        SELECT id FROM agents_run run WHERE status = 'waiting_human' AND NOT EXISTS (
            SELECT FROM asks_ask WHERE run_id = run.id AND {AWAITED})
    """,
    "an ask is answered exactly when it has a verdict": """
        SELECT ask.id FROM asks_ask ask LEFT JOIN asks_verdict verdict ON verdict.ask_id = ask.id
        AND NOT EXISTS (SELECT FROM asks_retraction back WHERE back.verdict_id = verdict.id)
        WHERE (ask.status = 'answered') <> (verdict.id IS NOT NULL)
        OR ask.verdict_id IS DISTINCT FROM verdict.id
    """,
    "events, runs and gates are numbered without gaps": """
        SELECT id FROM agents_session session WHERE
        (last_seq, last_seq) IS DISTINCT FROM (
            SELECT (count(*), coalesce(max(seq), 0)) FROM agents_event WHERE session_id = session.id)
        OR (run_count::bigint, run_count) IS DISTINCT FROM (
            SELECT (count(*), coalesce(max(number), 0)) FROM agents_run WHERE session_id = session.id)
        OR (gate_count::bigint, gate_count - 1) IS DISTINCT FROM (
            SELECT (count(*), coalesce(max(number), -1)) FROM asks_gate WHERE session_id = session.id)
    """,
}

EVERYTHING = " UNION ALL ".join(
    f"SELECT %s, array_agg(broken.id) FROM ({query}) AS broken(id) HAVING count(*) > 0"
    for query in PROMISES.values()
)


def check_all() -> None:
    """Check every promise on all rows in one statement, and derive each stored status again."""
    with connection.cursor() as cursor:
        cursor.execute(EVERYTHING, list(PROMISES))
        broken = cursor.fetchall()
    assert not broken, f"broken, with ids: {broken}"
    live = {run.session_id: run for run in Run.objects.filter(status__in=LIVE_RUNS)}
    for session in Session.objects.select_related("agent"):
        derived = derive_status(status_facts(session, live.get(session.pk)))
        stored = (session.status, session.status_reason)
        assert stored == (derived.status, derived.reason), f"{session.pk} is stored as {stored}"
