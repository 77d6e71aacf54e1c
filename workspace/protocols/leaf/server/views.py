"""POST /runs and GET /runs/status: orchestrators use our agents.

A synchronous call waits here while a worker carries the turn; an asynchronous one is answered at
once. Either way the session is stored, so an interrupted call can be repeated.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse

from agents.models import Agent, Session
from workspace.accounts import api_keys
from workspace.models import ApiKey
from workspace.protocols.common import http, wait_for_session
from workspace.protocols.common.http import HttpDoor, one_line_json
from workspace.protocols.leaf import wire
from workspace.protocols.leaf.errors import LeafProblem, bad_envelope, of_request
from workspace.protocols.leaf.server import decisions, publishing, replies, sessions, state
from workspace.protocols.leaf.server.decisions import Turned
from workspace.protocols.leaf.server.facts import LeafFacts, facts_in
from workspace.protocols.leaf.server.state import LeafState
from workspace.protocols.leaf.server.volume import Missing, Outside, UnreadableItem, Volume
from workspace.protocols.leaf.wire import BadEnvelope, Envelope, WorkItem

log = logging.getLogger(__name__)

T = TypeVar("T")

RUNTIMES = ("leaf", "leaf-remote")


def seconds_of(text: str | None, default: float) -> float:
    """Return seconds from an environment variable. A value that is not above zero counts as not set."""
    try:
        value = float(text or "")
    except ValueError:
        return default
    return value if value > 0 and math.isfinite(value) else default


LEAF = HttpDoor(of_request, retry_after=2)


def _warn_of_old_name(request: HttpRequest) -> None:
    if request.path.startswith("/run-leaf"):
        log.warning("/run-leaf is the old name of /runs; use that.")


def _json(body: dict[str, Any], **more: Any) -> HttpResponse:
    return HttpResponse(one_line_json(body), content_type="application/json", **more)


@LEAF.takes("POST")
def runs(request: HttpRequest) -> HttpResponse:
    """POST /runs: open a session, continue it, or decide about its gate."""
    _warn_of_old_name(request)
    key = api_keys.require_key(request, "run:create")
    envelope = _envelope(request)
    agent = _agent(key, envelope.agent)
    volume = _checked_volume(agent, envelope)
    opened = _session(agent, key, envelope, volume)
    if isinstance(opened, HttpResponse):
        return opened
    session, turned = opened, _decide(opened, key, envelope, volume)
    if turned is not None and turned.http_status != 200:
        raise LeafProblem(turned.http_status, turned.reason, turned.detail)
    if envelope.wants_async:
        _continue(session, key)
        _publish(session)
        return _json(replies.accepted(envelope, turned), status=202)
    with wait_for_session.listen_to_session(session.pk) as wait:
        standing = _continue(session, key)
        standing = wait.until(standing, lambda: state.glance(session), _Patience())
    return _answer(session, standing, turned)


def _envelope(request: HttpRequest) -> Envelope:
    try:
        return wire.read_envelope(http.read_body(request))
    except BadEnvelope as error:
        raise bad_envelope(str(error)) from error


def _agent(key: ApiKey, slug: str) -> Agent:
    """Return the leaf agent that a key reaches. Raises LeafProblem."""
    try:
        return api_keys.agent_for(key, slug, *RUNTIMES)
    except api_keys.AgentNotFound as error:
        if error.is_ambiguous:
            detail = "This key reaches several: name one in “agent”."
            raise LeafProblem(400, "agent_required", detail) from error
        detail = "This key reaches no agent that serves leaf sessions."
        raise LeafProblem(403, "no_agent", detail) from error


def _checked_volume(agent: Agent, envelope: Envelope) -> Volume | None:
    """Return the agent's volume for an envelope of files. Raises LeafProblem for a path outside it."""
    if envelope.refs is None:
        return None
    volume = publishing.volume_of(agent)
    if volume is None:
        raise bad_envelope("This agent has no shared volume: send the item inline.")
    try:
        volume.check(*envelope.refs.all)
    except Outside as error:
        raise bad_envelope(str(error)) from error
    return volume


def _session(
    agent: Agent, key: ApiKey, envelope: Envelope, volume: Volume | None
) -> Session | HttpResponse:
    """Find or open the session that an envelope names. Return the answer if its inputs are bad."""
    session = sessions.find_session(agent, envelope.session_id, envelope.tenant)
    item = _item(envelope, volume)
    if session is not None:
        sessions.check_same(session, envelope, item)
        return session
    if item is None:
        return _bad_inputs(envelope, volume)
    opened = sessions.open_once(agent, key, LeafFacts.of(envelope, item))
    sessions.check_same(opened, envelope, item)
    return opened


def _item(envelope: Envelope, volume: Volume | None) -> WorkItem | None:
    """Return the item of the envelope or of its inputs file; None if the file has none."""
    if envelope.refs is None or volume is None:
        return envelope.item
    try:
        return wire.validate_item(volume.read(envelope.refs.inputs_ref))
    except (UnreadableItem, BadEnvelope, Outside):
        return None


def _bad_inputs(envelope: Envelope, volume: Volume | None) -> HttpResponse:
    """Report bad inputs. No session is opened; the same envelope with good inputs opens one."""
    if envelope.refs is not None and volume is not None:
        refs, name = envelope.refs, envelope.session_id
        _on_volume(lambda: publishing.write_done(volume, refs, name, "failed", "bad_inputs"))
    if envelope.wants_async:
        return _json(replies.accepted(envelope), status=202)
    message = "inputsRef holds no item: {item_id, file, pattern} as strings."
    return _json({"status": "failed", "reason": "bad_inputs", "message": message})


def _decide(
    session: Session, key: ApiKey, envelope: Envelope, volume: Volume | None
) -> Turned | None:
    """Take the decision of the envelope or of its decision file, if there is one."""
    sent = envelope.decision
    if envelope.refs is not None and volume is not None and envelope.refs.decision_ref:
        try:
            sent = volume.read(envelope.refs.decision_ref)
        except Missing:
            return None
        except (UnreadableItem, Outside) as error:
            return decisions.record_no_decision(session, str(error), envelope.refs.decision_ref)
    return None if sent is None else decisions.decide_gate(session, sent, key)


def _continue(session: Session, key: ApiKey) -> LeafState:
    """Return a session's state. A session that failed is started again first."""
    current = state.glance(session)
    if current.word not in ("failed", "retrying"):
        return current
    sessions.continue_session(session.pk, key)
    return state.glance(session)


def _answer(session: Session, current: LeafState, turned: Turned | None) -> HttpResponse:
    """Answer a synchronous call: with the result, or 503 if the session is not at rest yet."""
    facts = _facts(session)
    if current.word == "queued":
        return _saturated({"status": "failed", "reason": "saturated"})
    if not _at_rest(current):
        return _saturated({"status": current.word, "sessionId": facts.session_id})
    _publish(session)
    return _json(replies.posted(facts, current, turned))


class _Patience:
    """How many more seconds a call waits: first for a worker, then for the turn itself."""

    def __init__(self) -> None:
        self._since: dict[bool, float] = {}

    def __call__(self, now: LeafState) -> float:
        if _at_rest(now):
            return 0
        longest = seconds_of(os.environ.get("LEAF_SYNC_SECONDS"), 600)
        if waits_for_a_worker := now.word == "queued":
            longest = seconds_of(os.environ.get("LEAF_SYNC_QUEUE_SECONDS"), 30)
        began = self._since.setdefault(waits_for_a_worker, time.monotonic())
        return began + longest - time.monotonic()


def _at_rest(current: LeafState) -> bool:
    return current.is_settled or current.word == "retrying"


def _saturated(body: dict[str, Any]) -> HttpResponse:
    """Ask the caller to come again. The same envelope then waits for the same run."""
    after = math.ceil(seconds_of(os.environ.get("LEAF_SYNC_RETRY_AFTER_SECONDS"), 5))
    return _json(body, status=503, headers={"Retry-After": str(after)})


def _publish(session: Session) -> None:
    """Write the session's files now. This also writes files that a crash left out."""
    if _facts(session).refs is not None:
        _published(session)


def _published(session: Session) -> LeafState:
    """Write the session's files, and return its state at that moment."""
    return _on_volume(lambda: publishing.publish_session(session.pk))


def _on_volume(work: Callable[[], T]) -> T:
    """Write to the volume. If that fails, a job writes later, and the caller is asked to come again."""
    try:
        return work()
    except (OSError, Outside) as error:
        detail = "The shared volume cannot be written. Send the same envelope again."
        raise LeafProblem(503, "volume_unavailable", detail, {"Retry-After": "5"}) from error


def _facts(session: Session) -> LeafFacts:
    facts = facts_in(session.data)
    assert facts is not None  # noqa: S101 -- find_session leaves out sessions without facts
    return facts


@LEAF.takes("GET")
def status(request: HttpRequest) -> HttpResponse:
    """GET /runs/status."""
    _warn_of_old_name(request)
    key = api_keys.require_key(request, "run:read", "run:create")
    agent = _agent(key, request.GET.get("agent", ""))
    if "doneMarker" in request.GET or "gateMarker" in request.GET:
        return _json(_status_of_files(agent, request))
    name = request.GET.get("sessionId", "")
    if not name:
        raise LeafProblem(
            400, "sessionId_required", "Name the session: sessionId, or doneMarker for files."
        )
    session = sessions.find_session(agent, name, request.GET.get("tenant", ""))
    return _json(replies.status(state.current_state(session)) if session else replies.unknown())


def _status_of_files(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    """Read the status from the markers on the volume; without a marker, from the database."""
    done, gate = request.GET.get("doneMarker", ""), request.GET.get("gateMarker", "")
    if not done:
        raise LeafProblem(400, "doneMarker_required", "Name the session's done marker.")
    volume = publishing.volume_of(agent)
    _check_marker(volume, done, "doneMarker_forbidden")
    _check_marker(volume, gate or done, "gateMarker_forbidden")
    assert volume is not None  # noqa: S101 -- _check_marker refuses without one
    if ended := _marker(volume, done):
        status = {"status": ended.get("status"), "reason": ended.get("reason")}
        return {name: value for name, value in status.items() if value is not None}
    waiting_at = _marker(volume, gate) if gate else None
    if waiting_at and waiting_at.get("status") == "awaiting_approval":
        return {"status": "awaiting_approval", "gateId": waiting_at.get("gateId")}
    return _word_of_rows(agent, done)


def _check_marker(volume: Volume | None, path: str, error: str) -> None:
    if volume is None:
        raise LeafProblem(403, error, "This agent has no shared volume.")
    try:
        volume.check(path)
    except Outside as outside:
        raise LeafProblem(403, error, str(outside)) from outside


def _marker(volume: Volume, path: str) -> dict[str, Any] | None:
    try:
        marker = volume.read(path)
    except UnreadableItem:
        return None
    return marker if isinstance(marker, dict) else None


def _word_of_rows(agent: Agent, done: str) -> dict[str, Any]:
    """Return the status of the session that will write this marker, if there is one."""
    refs = Session.objects.filter(agent=agent)
    named = refs.filter(data__leaf__refs__done_marker_ref=done)
    plain = done.removesuffix(".status")
    session = named.first() or refs.filter(data__leaf__refs__result_ref=plain).first()
    if session is None:
        return replies.unknown()
    current = _published(session)  # the caller looks for the marker next
    if current.gate is not None:
        return {"status": "awaiting_approval", "gateId": current.gate.number}
    return {"status": current.word}
