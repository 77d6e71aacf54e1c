"""Start a turn for a caller: in a new session, or as the next turn of an existing one."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from pydantic import ValidationError as ShapeError

from agents import inbox, next_run, registration, transitions, wakes
from agents.events.log import record_event
from agents.lifecycle import AgentState, Cause, InboxKind, RunStatus, SessionState
from agents.locking import LockedSession, lock_session
from agents.models import Agent
from agents.text.outline import outline
from workspace.accounts import api_keys
from workspace.api.attempts import actor_of
from workspace.models import ApiKey
from workspace.protocols.responses.errors import ResponsesProblem, invalid
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import store
from workspace.protocols.responses.server.projection import RUNTIME
from workspace.protocols.responses.server.request import CreateResponse, request_of
from workspace.protocols.responses.server.steps import steps_of_caller
from workspace.protocols.responses.server.store import NewResponse
from workspace.protocols.responses.settings import ResponsesSettings

TITLE = 120
CONFIDENTIAL = "A confidential request"


def _agent(key: ApiKey, model: str) -> Agent:
    """Return the agent that a key reaches, of several the one whose slug is ``model``.

    Clients must send a model, so the only agent serves any. Raises ResponsesProblem.
    """
    try:
        return api_keys.agent_for(key, model, RUNTIME)
    except api_keys.AgentNotFound as error:
        served = error.served
        if not served:
            detail = "This key reaches no agent that serves responses."
            raise ResponsesProblem(403, detail, code="no_agent") from error
        if len(served) == 1:
            return served[0]
        slugs = ", ".join(agent.slug for agent in served)
        words = f"This key reaches several agents: name one as the model, of {slugs}."
        raise invalid(words, "model") from error


def start_response(key: ApiKey, create: CreateResponse, *, previous: Response | None) -> Response:
    """Start a turn for a caller's new text. Raises ResponsesProblem.

    If ``previous`` is the last response of an active session, the turn continues in that session.
    Otherwise it is a fork and gets a new session.
    """
    agent = previous.agent if previous else _agent(key, create.model)
    new = _new_response(key, create, settings_of(agent), previous)
    response = _follow(key, new, previous) if previous is not None else None
    return response or _open(key, new, create.text, agent, previous)


def settings_of(agent: Agent) -> ResponsesSettings:
    try:
        return ResponsesSettings.model_validate(agent.settings)
    except (ShapeError, ValidationError) as error:
        raise ResponsesProblem(
            500, "The agent's settings are not usable.", code="server_error"
        ) from error


@transaction.atomic
def _follow(key: ApiKey, new: NewResponse, previous: Response) -> Response | None:
    session = lock_session(previous.session_id)
    newest = Response.objects.filter(session=session).order_by("-pk").first()
    active = session.state == SessionState.ACTIVE and session.agent.lifecycle == AgentState.ACTIVE
    live = transitions.live_run(session)
    busy = live is not None and live.status != RunStatus.WAITING_HUMAN
    if newest is None or newest.pk != previous.pk or not active or busy:
        return None
    transitions.release_waiting_run(session)
    response = _put(session, key, new, previous)
    next_run.queue_next_run(session)
    return response


def _open(
    key: ApiKey, new: NewResponse, text: str, agent: Agent, previous: Response | None
) -> Response:
    title = CONFIDENTIAL if new.confidential else text.strip()[:TITLE]
    # open_session opens the transaction; a second one around it would only cost time.
    made: list[Response] = []

    def begin(session: LockedSession) -> None:
        made.append(_put(session, key, new, previous))

    try:
        registration.open_session(agent, title=title, begin=begin)
    except registration.AgentRetired as error:
        raise ResponsesProblem(403, str(error), code="agent_retired") from error
    return made[0]


def _new_response(
    key: ApiKey, create: CreateResponse, settings: ResponsesSettings, previous: Response | None
) -> NewResponse:
    request = request_of(create.text)
    return NewResponse(
        request=request,
        items=create.items,
        key=key,
        background=create.background,
        steps=steps_of_caller(create, settings.steps, previous),
        confidential=settings.tightened(request).confidential,
        said=create.said,
        ignored=create.ignored,
        idempotency=create.idempotency,
    )


def _put(
    session: LockedSession, key: ApiKey, new: NewResponse, previous: Response | None
) -> Response:
    """Make the response and put it into the session's inbox: the next run carries it."""
    response = store.make_response(session, new, previous=previous)
    author = actor_of(key)
    text = CONFIDENTIAL if new.confidential else _text(new)
    inbox.enqueue_item(
        session,
        InboxKind.MESSAGE,
        author=author,
        body=text,
        data={"response": response.public_id},
        source_key=f"response:{response.pk}",
    )
    record_event(session, "message", actor=author, text=text)
    next_run.set_requester(session, key.person_id)
    wakes.wake_session(session, Cause.HUMAN)
    return response


def _text(new: NewResponse) -> str:
    """Return what the thread shows of a request: text, or a list of the JSON fields."""
    request = new.request or {}
    if set(request) == {"text"}:
        return str(request["text"])
    return f"A request:\n\n{outline(request)}"
