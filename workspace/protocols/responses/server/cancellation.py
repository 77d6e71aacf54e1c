"""Cancel a response in progress, and delete one that has ended."""

from __future__ import annotations

from django.db import transaction

from agents import controls, inbox, next_run, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, InboxState, RunStatus
from agents.locking import LockedSession, lock_session
from agents.models import InboxItem, Run
from asks import withdrawing
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.refusals import Refused
from workspace.api.attempts import actor_of
from workspace.models import ApiKey, Scope
from workspace.protocols.responses.errors import ResponsesProblem
from workspace.protocols.responses.models import (
    Response,
    ResponseEvent,
    ResponseInput,
    ResponseStatus,
)
from workspace.protocols.responses.server.decisions import VIA
from workspace.protocols.responses.server.events import ResponseStream
from workspace.protocols.responses.server.projection import envelope_of

WHY = "Cancelled by its caller."


def _refused(message: str) -> ResponsesProblem:
    return ResponsesProblem(400, message, param="response_id")


@transaction.atomic
def cancel_in_session(response: Response, key: ApiKey) -> Response:
    """Cancel a background response. Repeating this changes nothing. Raises ResponsesProblem."""
    session = lock_session(response.session_id)
    response = Response.objects.get(pk=response.pk)
    if response.status == ResponseStatus.CANCELLED:
        return response
    if not response.background:
        raise _refused("Cannot cancel a synchronous response.")
    if not response.is_under_way:
        raise _refused(f"Cannot cancel a {response.status} response.")
    actor = actor_of(key)
    _stop_run(session, response)
    _drop(session, response, actor)
    stream = ResponseStream(response)
    cancelled = ResponseStatus.CANCELLED
    stream.ended(cancelled, at=session.locked_at, envelope=envelope_of(response, cancelled))
    stream.save()
    if inbox.has_waiting_items(session):
        wakes.wake_session(session, Cause.HUMAN)
    next_run.queue_next_run(session)
    return response


def _stop_run(session: LockedSession, response: Response) -> None:
    """Cancel the run that carries the response or will carry it. Its inbox items are released.

    The worker notices at the next renewal of its claim, and ends the process.
    """
    run = transitions.live_run(session)
    if run is None or run.status == RunStatus.WAITING_HUMAN or _carries_another(run, response):
        return
    inbox.release_items(run)
    transitions.move_run(session, run, RunStatus.CANCELLED)


def _carries_another(run: Run, response: Response) -> bool:
    bound = Response.objects.filter(run=run).exclude(pk=response.pk)
    return bound.filter(ended_at=None).exists()


def _drop(session: LockedSession, response: Response, actor: str) -> None:
    """Acknowledge the response's inbox item. An answer is kept: the session pauses until resumed."""
    if response.answers_id is not None:
        why = "The turn with the answer was cancelled by its caller. Resuming carries it again."
        controls.pause_session(session, reason=why, actor=actor)
        return
    owed = InboxItem.objects.filter(session=session, source_key=f"response:{response.pk}")
    owed.update(state=InboxState.ACKED, leased_by=None)
    wakes.rest_session(session, wakes.resting_cause(session))
    record_event(session, "state", actor=actor, text=WHY)


def delete_with_content(response: Response, key: ApiKey) -> None:
    """Delete a response that has ended, with its content. Its open questions are withdrawn first.

    The session's own log stays. Raises ResponsesProblem.
    """
    if response.is_under_way:
        raise _refused("Cannot delete a response that is in progress.")
    _withdraw_questions(response, key)
    with transaction.atomic():
        session = lock_session(response.session_id)
        row = Response.objects.get(pk=response.pk)
        row.deleted_at, row.body = session.locked_at, {**row.body, "output": []}
        row.save(update_fields=["deleted_at", "body"])
        ResponseEvent.objects.filter(response=row).delete()
        ResponseInput.objects.filter(response=row).delete()


def _withdraw_questions(response: Response, key: ApiKey) -> None:
    if response.run_id is None:
        return
    for ask in Ask.objects.filter(run=response.run_id, status=AskStatus.OPEN):
        if key.person is None or Scope.ASK_ANSWER not in key.scopes:
            why = "Its question waits for a person, and this key may not withdraw it."
            raise ResponsesProblem(403, why, code="not_permitted")
        reason = "The response that asked it was deleted by its caller."
        result = withdrawing.withdraw_ask(ask_id=ask.pk, by=key.person, reason=reason, via=VIA)
        if isinstance(result, Refused) and result.http_status != 409:
            raise ResponsesProblem(403, result.detail, code="not_permitted")
