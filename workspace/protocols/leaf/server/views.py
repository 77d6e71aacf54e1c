"""POST /runs and GET /runs/status: other people's orchestrators use our agents.

A synchronous call waits here while the dispatch service carries the turn; an asynchronous one is
answered at once. Either way the session is rows, so a call that is cut off is simply made again.
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
    """A time as the environment has it; what is no time above zero counts as not set."""
    try:
        value = float(text or "")
    except ValueError:
        return default
    return value if value > 0 and math.isfinite(value) else default


LEAF = HttpDoor(of_request, retry_after=2)


def _warn_of_old_name(request: HttpRequest) -> None:
    if request.path.startswith("/run-leaf"):
        log.warning("/run-leaf is the old name of /runs; use that.")


def _json(said: dict[str, Any], **more: Any) -> HttpResponse:
    return HttpResponse(one_line_json(said), content_type="application/json", **more)


@LEAF.takes("POST")
def runs(request: HttpRequest) -> HttpResponse:
    """POST /runs: open, continue or decide a session."""
    _warn_of_old_name(request)
    key = api_keys.require_key(request, "run:create")
    envelope = _envelope(request)
    agent = _agent(key, envelope.agent)
    volume = _checked_volume(agent, envelope)
    if isinstance(found := _session(agent, key, envelope, volume), HttpResponse):
        return found
    session, turned = found, _decide(found, key, envelope, volume)
    if turned is not None and turned.http_status != 200:
        raise LeafProblem(turned.http_status, turned.reason, turned.detail)
    if envelope.wants_async:
        _gone_on(session, key)
        _publish(session)
        return _json(replies.accepted(envelope, turned), status=202)
    with wait_for_session.listen_to_session(session.pk) as wait:
        standing = _gone_on(session, key)
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
    """The agent's volume for an envelope of files, all of whose paths are below it."""
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
    """The session an envelope names, opened if it is new; or the answer, if its inputs are bad."""
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
    """The item, from the envelope or its inputs file; None for a file that holds none."""
    if envelope.refs is None or volume is None:
        return envelope.item
    try:
        return wire.validate_item(volume.read(envelope.refs.inputs_ref))
    except (UnreadableItem, BadEnvelope, Outside):
        return None


def _bad_inputs(envelope: Envelope, volume: Volume | None) -> HttpResponse:
    """No session is opened: the same envelope with good inputs starts one."""
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
    """Take the decision that came along, from the envelope or its decision file, if any."""
    sent = envelope.decision
    if envelope.refs is not None and volume is not None and envelope.refs.decision_ref:
        try:
            sent = volume.read(envelope.refs.decision_ref)
        except Missing:
            return None
        except (UnreadableItem, Outside) as error:
            return decisions.record_no_decision(session, str(error), envelope.refs.decision_ref)
    return None if sent is None else decisions.decide_gate(session, sent, key)


def _gone_on(session: Session, key: ApiKey) -> LeafState:
    """How a session stands; one that came to no end tries again first."""
    found = state.glance(session)
    if found.word not in ("failed", "retrying"):
        return found
    sessions.continue_session(session.pk, key)
    return state.glance(session)


def _answer(session: Session, found: LeafState, turned: Turned | None) -> HttpResponse:
    """What a synchronous call is told once the session has come to rest, or that it has not."""
    facts = _facts(session)
    if found.word == "queued":
        return _saturated({"status": "failed", "reason": "saturated"})
    if not _at_rest(found):
        return _saturated({"status": found.word, "sessionId": facts.session_id})
    _publish(session)
    return _json(replies.posted(facts, found, turned))


class _Patience:
    """How many seconds more a call waits: at first for a worker, then for the turn itself."""

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


def _at_rest(found: LeafState) -> bool:
    return found.is_settled or found.word == "retrying"


def _saturated(said: dict[str, Any]) -> HttpResponse:
    """Nothing is lost: the same envelope sent again waits for the same run."""
    after = math.ceil(seconds_of(os.environ.get("LEAF_SYNC_RETRY_AFTER_SECONDS"), 5))
    return _json(said, status=503, headers={"Retry-After": str(after)})


def _publish(session: Session) -> None:
    """Write the session's files now, which heals what a crash left unwritten."""
    if _facts(session).refs is not None:
        _published(session)


def _published(session: Session) -> LeafState:
    """How the session stood when its files were written, just now."""
    return _on_volume(lambda: publishing.publish_session(session.pk))


def _on_volume(work: Callable[[], T]) -> T:
    """What cannot be written now is written by its job; the caller is told to come again."""
    try:
        return work()
    except (OSError, Outside) as error:
        detail = "The shared volume cannot be written. Send the same envelope again."
        raise LeafProblem(503, "volume_unavailable", detail, {"Retry-After": "5"}) from error


def _facts(session: Session) -> LeafFacts:
    facts = facts_in(session.data)
    assert facts is not None  # noqa: S101 -- opening.find leaves out sessions that have none
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
            400, "sessionId_required", "Say which: sessionId, or doneMarker for files."
        )
    session = sessions.find_session(agent, name, request.GET.get("tenant", ""))
    return _json(replies.status(state.current_state(session)) if session else replies.unknown())


def _status_of_files(agent: Agent, request: HttpRequest) -> dict[str, Any]:
    """By the markers on the volume, as the protocol has it; without one, by what the rows say."""
    done, gate = request.GET.get("doneMarker", ""), request.GET.get("gateMarker", "")
    if not done:
        raise LeafProblem(400, "doneMarker_required", "Name the session's done marker.")
    volume = publishing.volume_of(agent)
    _check_marker(volume, done, "doneMarker_forbidden")
    _check_marker(volume, gate or done, "gateMarker_forbidden")
    assert volume is not None  # noqa: S101 -- _check_marker refuses without one
    if ended := _marker(volume, done):
        said = {"status": ended.get("status"), "reason": ended.get("reason")}
        return {name: value for name, value in said.items() if value is not None}
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
        found = volume.read(path)
    except UnreadableItem:
        return None
    return found if isinstance(found, dict) else None


def _word_of_rows(agent: Agent, done: str) -> dict[str, Any]:
    """What is known of the session that will write this marker, if there is one."""
    refs = Session.objects.filter(agent=agent)
    named = refs.filter(data__leaf__refs__done_marker_ref=done)
    plain = done.removesuffix(".status")
    session = named.first() or refs.filter(data__leaf__refs__result_ref=plain).first()
    if session is None:
        return replies.unknown()
    found = _published(session)  # the marker is due: whoever reads this looks for it next
    if found.gate is not None:
        return {"status": "awaiting_approval", "gateId": found.gate.number}
    return {"status": found.word}
