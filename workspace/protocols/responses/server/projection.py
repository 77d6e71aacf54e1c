"""Translate the events of a hybrid agent's session into the protocol's events, in one transaction.

The session's own events are the only record of a turn. A response's stream follows them, so it never
shows output of a worker that lost its claim. A verdict makes the response that carries it, in the
transaction that records the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from agents.lifecycle import Outcome, RunStatus
from agents.locking import LockedSession
from agents.models import Event, Session
from agents.text.json_input import is_json
from asks.models import Ask
from workspace.models import ApiKey
from workspace.protocols.responses import wire
from workspace.protocols.responses.agent import work
from workspace.protocols.responses.agent.failures import words_for_caller
from workspace.protocols.responses.models import Response, ResponseStatus, Steps
from workspace.protocols.responses.server import outcomes, questions, store
from workspace.protocols.responses.server.events import ResponseStream
from workspace.protocols.responses.wire import Json, compact_json, input_message

RUNTIME = "responses"
HIDDEN = "(confidential)"
NOT_ASKED = "What the brain left in hitl_request.json could not be asked."


@dataclass(frozen=True, kw_only=True)
class Door:
    """The caller's wishes for the response that its answer starts, and that response once made."""

    key: ApiKey
    items: Sequence[Json]
    background: bool = False
    steps: Steps = Steps.CALLS
    said: Json = field(default_factory=dict)
    ignored: Sequence[str] = ()
    made: list[Response] = field(default_factory=list)


_door: ContextVar[Door | None] = ContextVar("responses_door", default=None)


@contextmanager
def answered_through(door: Door) -> Iterator[None]:
    """Attribute a verdict recorded in this block to this caller."""
    token = _door.set(door)
    try:
        yield
    finally:
        _door.reset(token)


def project_events(session: LockedSession, happened: Sequence[Event]) -> None:
    """Translate the events that were just recorded in a session."""
    if session.agent.runtime != RUNTIME:
        return
    for event in happened:
        if event.kind == "verdict":
            _answer(session, event)
    mine = [event for event in happened if event.kind in _TOLD and event.run_id is not None]
    response = Response.objects.filter(run=mine[0].run_id).first() if mine else None
    if response is None or not response.is_under_way:
        return
    stream = ResponseStream(response)
    for event in mine:
        _TOLD[event.kind](stream, session, event)
    stream.save()


def _answer(session: LockedSession, event: Event) -> None:
    asker = Response.objects.select_related("root").filter(run=event.run_id).first()
    if asker is None:
        return
    # The event of a confidential answer has none of its words: the rows do.
    answered = Ask.objects.select_related("verdict").get(pk=event.data["ask_id"])
    verdict = answered.decision
    label, words = verdict.option_label, verdict.text
    wanted = work.resumed(asker, answered.request_key, label or words)
    if door := _door.get():
        wanted = replace(
            wanted,
            key=door.key,
            items=door.items,
            background=door.background,
            steps=door.steps,
            said=_continued(wanted.said, door.said),
            ignored=door.ignored,
        )
    if questions.is_hidden(answered):
        wanted = replace(wanted, items=[_without_answer(item) for item in wanted.items])
    elif label and words:
        beside = input_message("user", [{"type": "input_text", "text": words}])
        wanted = replace(wanted, items=[*wanted.items, beside])
    root = work.root_of(asker)
    child = store.make_response(session, wanted, previous=asker, root=root, answers=answered.pk)
    if door is not None:
        door.made.append(child)


def _without_answer(item: Json) -> Json:
    """Return an input item without the words of an answer that few people may read."""
    match item["type"]:
        case "function_call_output":
            return item | {"output": HIDDEN}
        case "mcp_approval_response":
            return item | {"approve": False, "reason": HIDDEN}
    return item


def _continued(before: Json, said: Json) -> Json:
    """Return what the response to an answer repeats. The same task goes on, and its instructions."""
    return said | {"instructions": said.get("instructions") or before.get("instructions")}


def _output(stream: ResponseStream, session: Session, event: Event) -> None:
    del session
    stream.say(event.text)


def _step(stream: ResponseStream, session: Session, event: Event) -> None:
    del session
    arguments = event.data.get("detail") or "{}"
    whole = arguments if is_json(arguments) else compact_json({"detail": arguments})
    stream.step(event.text, whole)


def _usage(stream: ResponseStream, session: Session, event: Event) -> None:
    del session
    response, cost = stream.response, event.data.get("cost_usd")
    if cost is not None:
        # A turn that a second worker started over costs what both workers spent.
        response.cost_usd = (response.cost_usd or Decimal(0)) + Decimal(str(cost))
    response.body["usage"] = wire.usage(event.data) or response.body["usage"]


def _ended(stream: ResponseStream, session: LockedSession, event: Event) -> None:
    assert event.run is not None  # noqa: S101 -- project_events passes events of runs only
    asks = _asked(event)
    error = _error(event, asks)
    status = ResponseStatus.FAILED if error else ResponseStatus.COMPLETED
    response = stream.response
    response.paused = bool(asks) and not error
    if response.paused:
        asked = session.data.get("asked") or {}
        response.kept = asked.get("essentials") or {}
        stream.end_message()
        for ask in asks:
            questions.show_question(stream, ask)
    envelope = envelope_of(response, status)
    if response.paused:
        envelope |= outcomes.outcome_of(response)
    stream.ended(status, at=session.locked_at, envelope=envelope, error=error)


def _asked(event: Event) -> list[Ask]:
    """Return the turn's asks. Only a turn that ended blocked has any."""
    if event.data["outcome"] != Outcome.BLOCKED:
        return []
    return list(Ask.objects.filter(run=event.run).prefetch_related("options").order_by("pk"))


def _error(event: Event, asks: list[Ask]) -> str:
    if event.data["status"] == RunStatus.FAILED:
        return words_for_caller(event.run.error if event.run else "")
    return NOT_ASKED if event.data["outcome"] == Outcome.BLOCKED and not asks else ""


def envelope_of(response: Response, status: ResponseStatus) -> Json:
    """Return the envelope: how the response ended, and what its chain cost until now."""
    chain = store.chain_of(response)
    word = outcomes.AWAITING if response.paused else _WORDS[status]
    return wire.envelope(
        word,
        paused=response.paused,
        cost=response.cost_usd,
        chain_cost=chain.cost,
        turns=chain.turns,
        ignored=(response.body.get("envelope") or {}).get("ignored", ()),
    )


_WORDS = {
    ResponseStatus.COMPLETED: "ok",
    ResponseStatus.FAILED: "failed",
    ResponseStatus.CANCELLED: "cancelled",
}
_TOLD: dict[str, Any] = {"output": _output, "step": _step, "usage": _usage, "ended": _ended}
