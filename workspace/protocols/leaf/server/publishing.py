"""Write a session's files on the shared volume from its rows. Repeating this is harmless.

    <resultRef>.gate      {"status":"awaiting_approval", …} while a gate waits, and gone afterwards
    <resultRef>           the verdict, alone
    <resultRef>.status    {"status":"done"|"failed"|"aborted"|"expired", …}, written after it

A job writes them after every change. The job is queued in the transaction of that change, so no crash
loses it. A waiting call writes them too before it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from procrastinate import RetryStrategy, tasks
from procrastinate.contrib.django import app
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.manager import JobManager

from agents.db.retrying import in_database
from agents.jobs.queue import QUEUE
from agents.models import Agent, Event, Session
from asks.actions import binding
from workspace.protocols.leaf.server import replies, state
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in
from workspace.protocols.leaf.server.state import LeafState
from workspace.protocols.leaf.server.volume import Volume
from workspace.protocols.leaf.settings import LeafSettings
from workspace.protocols.leaf.wire import Refs

PUBLISH = "leaf.publish"
_MOVES = frozenset({"verdict", "withdrawn", "expired", "superseded", "ended"})
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('leaf.publishing'), %s)"


@app.task(name=PUBLISH, queue=QUEUE, retry=RetryStrategy(max_attempts=12, exponential_wait=2))
async def publish_job(session_id: int) -> None:
    """Publish a session. Retried for over an hour while the volume is unavailable."""
    await in_database(publish_session, session_id)


def publish_on_event(session: Session, happened: Sequence[Event]) -> None:
    """Queue the publishing of a session after a change, in the same transaction."""
    if session.agent.runtime != "leaf" or not any(event.kind in _MOVES for event in happened):
        return
    facts = facts_in(session.data)
    if facts is not None and facts.refs is not None:
        tasks.configure_task(
            name=PUBLISH, job_manager=JobManager(DjangoConnector()), queue=QUEUE
        ).defer(session_id=session.pk)


def volume_of(agent: Agent) -> Volume | None:
    """Return the volume on which an agent serves the files dialect, if it does."""
    if agent.runtime != "leaf":
        return None
    settings = LeafSettings.model_validate(agent.settings)
    return Volume(settings.volume, settings.volume_known_as) if settings.volume else None


@transaction.atomic
def publish_session(session_id: int) -> LeafState:
    """Write the missing files. Raises OSError while the volume cannot be written.

    The advisory lock is taken before the rows are read, so concurrent calls never write an older
    state over a newer one.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME, [session_id % 2**31])
    session = Session.objects.select_related("agent").get(pk=session_id)
    current, facts = state.current_state(session), facts_in(session.data)
    volume = volume_of(session.agent)
    if facts is not None and facts.refs is not None and volume is not None:
        _write(volume, facts, facts.refs, current)
    return current


def _write(volume: Volume, facts: LeafFacts, refs: Refs, current: LeafState) -> None:
    if current.gate is not None:
        volume.write_if_other(refs.gate, _gate_marker(facts, current), apart_from="ts")
    else:
        volume.remove(refs.gate)
    if current.verdict is not None and current.word == "done":
        volume.write_if_other(refs.result_ref, current.verdict)
    if current.is_settled and current.gate is None:
        write_done(volume, refs, facts.session_id, current.word, current.reason or None)
    else:
        volume.remove(refs.done)


def write_done(volume: Volume, refs: Refs, session_id: str, word: str, reason: str | None) -> None:
    """Write the terminal marker. A synchronous call writes one too, for clients that look later."""
    marker = {"status": word, "sessionId": session_id, "reason": reason, "ts": _now()}
    volume.write_if_other(refs.done, marker, apart_from="ts")


def _gate_marker(facts: LeafFacts, current: LeafState) -> dict[str, Any]:
    assert current.gate is not None  # noqa: S101 -- the caller has checked this
    return {
        "status": "awaiting_approval",
        "sessionId": facts.session_id,
        "gateId": current.gate.number,
        "gate": replies.gate_reply(current.gate),
        "binding": binding.shown_binding(current.gate).as_echo(),
        "ts": _now(),
    }


def _now() -> str:
    return timezone.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
