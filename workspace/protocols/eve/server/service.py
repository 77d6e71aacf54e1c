"""The verbs of /eve/v1, with the check of the caller's key: synchronous, in the database."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest

from agents import transitions
from agents.lifecycle import RunStatus
from agents.locking import LockedSession, lock_session
from agents.models import Session
from workspace.accounts import api_keys
from workspace.accounts.api_keys import KeyRefused
from workspace.models import ApiKey
from workspace.protocols.common import http
from workspace.protocols.eve import wire
from workspace.protocols.eve.errors import EveProblem, expired, not_active, of_request, stale_token
from workspace.protocols.eve.models import EveSession
from workspace.protocols.eve.server import (
    controls,
    decisions,
    info,
    log_reader,
    matching,
    messages,
    notes,
    sessions,
)
from workspace.protocols.eve.server.fold import Fold
from workspace.protocols.eve.wire import ContinueSession, InputResponse

CREATE, READ, ANSWER = "run:create", "run:read", "ask:answer"
Json = dict[str, Any]


def key_of(request: HttpRequest, *scopes: str) -> ApiKey:
    """Return the key of a request. Raises EveProblem."""
    try:
        return api_keys.require_key(request, *scopes)
    except KeyRefused as refused:
        raise of_request(http.refused_key(refused)) from refused


def agent_info(request: HttpRequest) -> Json:
    key = key_of(request, READ, CREATE)
    return info.describe_agent(sessions.find_agent(key, request.GET.get("agent", "")))


def create_session(request: HttpRequest, raw: bytes) -> Json:
    """Open a session, with a first message or waiting for one. Raises EveProblem."""
    key = key_of(request, CREATE)
    parsed = wire.read_create(raw)
    agent = sessions.find_agent(key, request.GET.get("agent", ""))
    opened = sessions.open_once(key, parsed, agent)
    return _accepted(opened) | {"continuationToken": opened.token}


def continue_session(request: HttpRequest, public_id: str, raw: bytes) -> Json:
    """Take a message or answers for a session. Raises EveProblem."""
    key = key_of(request, CREATE, ANSWER)
    opened = sessions.find_session(key, public_id)
    if opened is None:
        raise not_active()
    parsed = wire.read_continue(raw)
    if parsed.token is not None and parsed.token != opened.token:
        raise stale_token()
    if parsed.responses:
        _check_may_answer(key, opened, parsed.responses)
    elif CREATE not in key.scopes:
        raise EveProblem(403, "This key lacks the scope run:create.", "forbidden")
    delivery = messages.new_delivery()
    if (problem := _take(key, opened, parsed, delivery)) is not None:
        raise problem
    return _accepted(opened) | {"deliveryId": delivery}


def _check_may_answer(key: ApiKey, opened: EveSession, responses: list[InputResponse]) -> None:
    if decisions.may_answer(key):
        return
    named = [response.requestId for response in responses if "\0" not in response.requestId]
    asks = opened.session.asks.filter(request_key__in=named).values_list("pk", flat=True)
    decisions.check_may_answer(key, list(asks))


def _take(
    key: ApiKey, opened: EveSession, parsed: ContinueSession, delivery: str
) -> EveProblem | None:
    """Carry out the request. A refusal is returned, not raised, so that its record is committed."""
    with transaction.atomic():
        session = sessions.lock_existing(opened)
        if parsed.responses:
            return _answer(session, key, parsed.responses)
        asks = decisions.open_asks(session)
        if not asks:
            messages.post_caller_message(session, key, parsed.message, parsed.context, delivery)
            return None
        try:
            meant = matching.match_text(parsed.message, decisions.open_requests(asks))
        except matching.Ambiguous as error:
            return EveProblem(409, f"{error} Nothing was answered.", "ambiguous_answer")
    return _typed(key, opened, parsed, delivery, meant)


def _typed(
    key: ApiKey,
    opened: EveSession,
    parsed: ContinueSession,
    delivery: str,
    meant: matching.MatchedOption | None,
) -> EveProblem | None:
    """Take a message to a waiting session: as an answer if it matches a request.

    Any other message makes the session continue without answers to its open requests.
    """
    controls.check_owns_turn(opened.session, key)
    with transaction.atomic():
        session = sessions.lock_existing(opened)
        if meant is None or not session.asks.filter(
            request_key=meant.request.request_id, status="open"
        ):
            messages.post_caller_message(session, key, parsed.message, parsed.context, delivery)
            return None
        response = InputResponse(
            requestId=meant.request.request_id,
            optionId=meant.option or None,
            text=meant.text or None,
        )
        if (problem := decisions.refused_beforehand(session, key, response)) is not None:
            return problem
        notes.note_typed(session, delivery, parsed.message)
        return _answer(session, key, [response])


def _answer(
    session: LockedSession, key: ApiKey, responses: list[InputResponse]
) -> EveProblem | None:
    problem = decisions.decide_requests(session, key, responses)
    if problem is None and not _continues(session):
        _note_at_rest(session.pk)
    return problem


@transaction.atomic
def _note_at_rest(session_id: int) -> None:
    """Tell clients that follow this answer to stop waiting: no turn follows for now."""
    session = lock_session(session_id)  # as the answers have left it
    if not _continues(session):
        notes.note_at_rest(session)


def _continues(session: Session) -> bool:
    """Tell whether a turn is running or queued, so that its end will be reported."""
    run = transitions.live_run(session)
    return run is not None and run.status != RunStatus.WAITING_HUMAN


def cancel_turn(request: HttpRequest, public_id: str, raw: bytes) -> Json:
    """Cancel the current turn of a session. Raises EveProblem."""
    key = key_of(request, CREATE)
    turn = wire.read_cancel(raw)
    opened = _find_stoppable(key, public_id)
    with transaction.atomic():
        session = sessions.lock_active(opened)
        if session is None or opened is None:
            return {"ok": True, "status": "no_active_turn"}
        if turn is None or turn == _turn_under_way(opened):
            controls.cancel_locked(session, key)
    return _accepted(opened)


def _find_stoppable(key: ApiKey, public_id: str) -> EveSession | None:
    """Find a session that this key may stop. The attempt of a key that may not is recorded.

    Return None if there is no such session. Raises EveProblem.
    """
    opened = sessions.find_session(key, public_id)
    if opened is not None:
        controls.check_owns_turn(opened.session, key)
    return opened


def _turn_under_way(opened: EveSession) -> str:
    state, seq = Fold(log_reader.read_about(opened)), 0
    while True:
        happened, last = log_reader.read_after(opened.session_id, seq)
        for each in happened:
            state.take(each)
        if last == seq:
            return f"turn_{state.turn}"
        seq = last


def clear_session(request: HttpRequest, public_id: str, raw: bytes) -> Json:
    """Clear the agent's memory of a session. Raises EveProblem."""
    key = key_of(request, CREATE)
    wire.parse_body(raw)
    opened = _find_stoppable(key, public_id)
    with transaction.atomic():
        session = sessions.lock_active(opened)
        if session is None or opened is None:
            return {"ok": True, "status": "no_active_session"}
        controls.clear_locked(session, key)
    return _accepted(opened)


def reset_session(request: HttpRequest, public_id: str, raw: bytes) -> Json:
    """End a session. Raises EveProblem."""
    key = key_of(request, CREATE)
    reason = wire.read_reset(raw)
    opened = _find_stoppable(key, public_id)
    with transaction.atomic():
        session = sessions.lock_active(opened)
        if session is None:
            return {"ok": True, "status": "no_active_session"}
        controls.reset_locked(session, key, reason)
    return {"ok": True, "previousSessionId": public_id, "status": "reset"}


def find_readable(request: HttpRequest, public_id: str) -> tuple[ApiKey, EveSession]:
    """Find a session whose stream the request's key may read. Raises EveProblem."""
    key = key_of(request, READ, CREATE)
    opened = sessions.find_session(key, public_id)
    if opened is None:
        raise expired()
    return key, opened


def may_still_read(key: ApiKey, public_id: str) -> bool:
    """Tell whether a key that reads a stream may continue to read it."""
    living = ApiKey.objects.filter(pk=key.pk, revoked_at=None).select_related("person").first()
    if living is None or (living.person is not None and not living.person.is_active):
        return False
    return sessions.find_session(living, public_id) is not None


def _accepted(opened: EveSession) -> Json:
    return {"ok": True, "sessionId": opened.public_id, "status": "accepted"}
