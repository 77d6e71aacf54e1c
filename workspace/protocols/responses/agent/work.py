"""Choose the response that a claimed run works on, and build the job of its brain.

A run leases every queued inbox item of its session, but a brain works on one response at a time:
items of other responses are returned to the queue, and the next run starts immediately.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from agents import claims, transitions, wakes
from agents.claims import ClaimLost
from agents.lifecycle import Cause, InboxKind, InboxState
from agents.locking import LockedSession
from agents.models import InboxItem, Run, Session
from agents.running.runtime import Turn
from asks.actions import binding, editing
from asks.drafts import request_keys
from asks.lifecycle import AskStatus, Meaning
from asks.models import Ask, Grant, GrantState
from workspace.protocols.responses.models import Response, Steps
from workspace.protocols.responses.server import store
from workspace.protocols.responses.server.events import ResponseStream
from workspace.protocols.responses.server.ids import new_id
from workspace.protocols.responses.server.input_items import files_of, text_of, told
from workspace.protocols.responses.server.questions import is_hidden
from workspace.protocols.responses.server.request import request_of, request_place
from workspace.protocols.responses.server.steps import steps_of_page
from workspace.protocols.responses.server.store import NewResponse
from workspace.protocols.responses.settings import ResponsesSettings
from workspace.protocols.responses.wire import (
    Json,
    compact_json,
    function_call_output,
    input_message,
    said_in,
)

ENDED = "It was approved, and the approval has ended since. Ask again if it is still needed."
REMEMBERED_TURNS = 10
REMEMBERED_WORDS = 2_000


@dataclass(frozen=True)
class WorkInput:
    """An answer for the brain. ``essentials`` is the data that the brain stored in its question.

    ``words`` were written beside a chosen option. ``action`` is what the answer approves or denies, if
    it was an approval.
    """

    call_id: str
    question: str
    text: str
    asked_at: datetime
    essentials: Json
    words: str = ""
    action: Json | None = None
    approved: bool = False


@dataclass(frozen=True, kw_only=True)
class BrainJob:
    """The work of one turn.

    ``request``: None only if it could not be recovered. ``failures``: failed turns in a row before
    this one. ``for_caller``: a program made the request; it sees a failure and retries by itself.
    ``messages``: the (role, text) messages that came with the request. ``instructions`` are the
    caller's, and ``files`` the images and files that belong to the request.
    """

    response: str
    root: str
    request: Json | None
    answer: WorkInput | None
    turn: int
    failures: int
    for_caller: bool
    confidential: bool
    suspended: bool = False
    conversation: tuple[tuple[str, str], ...] = ()
    messages: tuple[tuple[str, str], ...] = ()
    instructions: str = ""
    files: tuple[Json, ...] = ()

    @property
    def is_first(self) -> bool:
        """Return whether this is the first turn of its chain, the only one with a mandatory gate."""
        return self.response == self.root


@dataclass(frozen=True)
class NothingToDo:
    """There is no work for this run, for the reason ``why``."""

    why: str


@transaction.atomic
def begin_work(turn: Turn, settings: ResponsesSettings) -> BrainJob | NothingToDo:
    """Bind the run of a turn to its response and mark it in progress. Raises ClaimLost.

    Repeating the call returns the same response.
    """
    run = claims.lock_claimed_run(turn.fence)
    if run is None:
        raise ClaimLost
    session = run.session
    response = _response_of(session, run, settings)
    if isinstance(response, NothingToDo):
        return response
    response.run = run
    stream = ResponseStream(response)
    stream.begun()
    stream.save()
    return _job(session, response, settings)


def _response_of(
    session: LockedSession, run: Run, settings: ResponsesSettings
) -> Response | NothingToDo:
    under_way = _under_way(session)
    groups = _groups(session, run, under_way)
    bound = next((one for one in under_way.values() if one.run_id == run.pk), None)
    if bound is not None:
        _keep(session, run, groups, _group_of(bound, groups))
        return bound
    if not groups:
        return _unasked(session, settings)
    key = next(iter(groups))
    _keep(session, run, groups, key)
    kind, number = key
    if kind == "response":
        return under_way[number]
    if kind == "again":
        return _answer_once_more(session, number)
    if kind == "retry":
        return _request_once_more(session, Response.objects.get(pk=number))
    return _of_words(session, groups[key], settings)


def _under_way(session: Session) -> dict[int, Response]:
    """Return the open responses by key, each with its chain's root and its predecessor loaded.

    Most responses have neither; then the second query is skipped.
    """
    responses = Response.objects.filter(session=session, ended_at=None).order_by("pk").in_bulk()
    keys = {pk for one in responses.values() for pk in (one.root_id, one.previous_id) if pk}
    predecessors = Response.objects.in_bulk(keys) if keys else {}
    for one in responses.values():
        one.root = predecessors.get(one.root_id or 0)
        one.previous = predecessors.get(one.previous_id or 0)
    return responses


_Groups = dict[tuple[str, int], list[InboxItem]]


def _groups(session: Session, run: Run, under_way: dict[int, Response]) -> _Groups:
    """Group the leased inbox items of a run by the response they belong to, oldest first.

    Keys: ("response", pk) is an open response; ("again", ask pk) an answer whose response failed;
    ("words", 0) messages that people and agents wrote in the workspace; ("retry", pk) a caller's
    request whose response was reported as failed. A retry runs only if a person resumes the session
    and there is nothing else to do.
    """
    leased = InboxItem.objects.filter(leased_by=run, state=InboxState.LEASED).order_by("pk")
    groups: _Groups = {}
    for item in leased:
        groups.setdefault(_key_of(session, item, under_way), []).append(item)
    retries = [key for key in groups if key[0] == "retry"]
    for key in retries if len(groups) > len(retries) else retries[1:]:
        done = [item.pk for item in groups.pop(key)]
        InboxItem.objects.filter(pk__in=done).update(state=InboxState.ACKED)
    return groups


def _key_of(session: Session, item: InboxItem, under_way: dict[int, Response]) -> tuple[str, int]:
    if item.kind == InboxKind.VERDICT:
        ask = int(item.data["ask_id"])
        child = next((one for one in under_way.values() if one.answers_id == ask), None)
        return ("response", child.pk) if child else ("again", ask)
    name = item.data.get("response", "")
    for one in under_way.values():
        if one.public_id == name:
            return ("response", one.pk)
    asked = Response.objects.filter(session=session, public_id=name).first() if name else None
    return ("retry", asked.pk) if asked else ("words", 0)


def _group_of(bound: Response, groups: _Groups) -> tuple[str, int] | None:
    """Return the key of the group that an already bound response was created for."""
    if ("response", bound.pk) in groups:
        return ("response", bound.pk)
    kinds = ("again",) if bound.root_id else ("words", "retry")
    return next((key for key in groups if key[0] in kinds), None)


def _keep(session: LockedSession, run: Run, groups: _Groups, kept: tuple[str, int] | None) -> None:
    """Return the items of other responses to the queue. The next run starts when this one ends."""
    others = [item.pk for key, items in groups.items() if key != kept for item in items]
    if others:
        InboxItem.objects.filter(pk__in=others).update(state=InboxState.QUEUED, leased_by=None)
        wakes.wake_session(session, Cause.HUMAN)
        transitions.store_status(session, run)


def _of_words(
    session: LockedSession, items: Iterable[InboxItem], settings: ResponsesSettings
) -> Response:
    text = "\n\n".join(item.body for item in items)
    request = request_of(text)
    new = NewResponse(
        request=request,
        items=[input_message("user", [{"type": "input_text", "text": text}])],
        steps=steps_of_page(settings, last := _last(session)),
        confidential=settings.tightened(request).confidential,
    )
    return store.make_response(session, new, previous=last)


def _last(session: Session) -> Response | None:
    return Response.objects.filter(session=session).order_by("-pk").first()


def _answer_once_more(session: LockedSession, ask_id: int) -> Response:
    """Create another response for an answer whose response failed, so the answer is not lost."""
    ask = Ask.objects.select_related("verdict").get(pk=ask_id)
    asker = Response.objects.get(run=ask.run_id)
    new = resumed(asker, ask.request_key, verdict_text(ask))
    return store.make_response(session, new, previous=asker, root=root_of(asker))


def _request_once_more(session: LockedSession, failed: Response) -> Response:
    """Create another response for a request whose response failed."""
    items = [{**row.data, "id": new_id("msg")} for row in failed.inputs.order_by("position")]
    new = NewResponse(
        request=failed.request,
        items=items,
        steps=Steps(failed.steps),
        confidential=failed.confidential,
        said=said_in(failed.body),
    )
    return store.make_response(session, new, previous=failed.previous)


def call_id_of(request_key: str) -> str:
    """Return the id of a question on the wire, which stays the same when it is asked again."""
    return request_keys.root_of(request_key)


def root_of(response: Response) -> Response:
    return response.root or response


def resumed(asker: Response, request_key: str, answer: str) -> NewResponse:
    """Return the response to create for an answer; it carries the original request."""
    return NewResponse(
        request=asker.request,
        items=[function_call_output(call_id_of(request_key), answer)],
        steps=Steps(asker.steps),
        confidential=asker.confidential,
        said=said_in(asker.body),
    )


def _unasked(session: LockedSession, settings: ResponsesSettings) -> Response | NothingToDo:
    """Handle a run without inbox items: a schedule or a person started it, or its question closed."""
    last = _last(session)
    if last is not None and last.paused and not last.let_go:
        asks = Ask.objects.filter(run=last.run_id)
        statuses = set(asks.values_list("status", flat=True))
        if AskStatus.OPEN not in statuses and AskStatus.ANSWERED not in statuses:
            Response.objects.filter(pk=last.pk).update(let_go=True)
            return NothingToDo("The question was closed without an answer. Nothing was run.")
    if not session.is_home:
        return NothingToDo("There is nothing to do in this session. Write to it to continue.")
    new = NewResponse(
        request=settings.default_request,
        items=[
            input_message(
                "user", [{"type": "input_text", "text": compact_json(settings.default_request)}]
            )
        ],
        steps=steps_of_page(settings, None),
        confidential=settings.tightened(settings.default_request).confidential,
    )
    return store.make_response(session, new)


def _job(session: Session, response: Response, settings: ResponsesSettings) -> BrainJob:
    inputs = [row.data for row in response.inputs.order_by("position")]
    place = request_place(inputs)
    answer = _answer(session, response, inputs) if response.root_id else None
    return BrainJob(
        response=response.public_id,
        root=root_of(response).public_id,
        request=response.request,
        answer=answer,
        turn=store.chain_of(response).turns,
        failures=session.error_streak,
        for_caller=response.key_id is not None,
        confidential=response.confidential,
        suspended=settings.simulate_suspension
        and response.body["metadata"].get("suspended") in ("true", "1"),
        conversation=_conversation(response),
        # The user's last message is the request, unless the turn continues an older request.
        messages=_messages(_beside(inputs, answer, None if answer else place)),
        instructions=response.body.get("instructions") or "",
        files=tuple(files_of(inputs[place]["content"])) if place is not None and not answer else (),
    )


def _beside(inputs: list[Json], answer: WorkInput | None, place: int | None) -> list[Json]:
    """Return the items that came with a request or an answer, without these themselves."""
    call_id = call_id_of(answer.call_id) if answer else None
    return [
        item for at, item in enumerate(inputs) if at != place and item.get("call_id", "") != call_id
    ]


def _answer(session: Session, response: Response, inputs: list[Json]) -> WorkInput | None:
    """Return the answer that a turn carries. The verdict counts, in whichever shape it was sent."""
    if response.answers_id is not None:
        answered = Ask.objects.select_related("verdict", "gate").get(pk=response.answers_id)
        paused = _asker(response, answered)
        return _work_input(response, answered, paused) if paused else None
    for item in inputs:
        if item["type"] != "function_call_output":
            continue
        ask = Ask.objects.filter(session=session, request_key=item["call_id"]).first()
        asker = _asker(response, ask) if ask else None
        if ask is not None and asker is not None:
            return _work_input(response, ask, asker)
    return None


def verdict_text(ask: Ask) -> str:
    """Return the option that was chosen, or the words."""
    return ask.decision.option_label or ask.decision.text


def _work_input(response: Response, ask: Ask, asker: Response) -> WorkInput:
    verdict, gate = ask.decision, binding.gate_of(ask)
    asked_at = asker.ended_at or response.created_at
    found = WorkInput(ask.request_key, ask.prompt, verdict_text(ask), asked_at, asker.kept)
    if is_hidden(ask) and verdict.option_label:
        # The words beside an option are in no input item then.
        found = replace(found, words=verdict.text)
    if gate is None:
        return found
    params = verdict.edit["edited"] if verdict.edit else editing.asked_params(gate)
    action = {"operation": gate.operation, "params": params}
    if verdict.meaning != Meaning.APPROVE:
        return replace(found, action=action)
    if not Grant.objects.filter(ask=ask, run=response.run_id, state=GrantState.MINTED).exists():
        return replace(found, action=action, text=ENDED)
    return replace(found, action=action, approved=True)


def _asker(response: Response, ask: Ask) -> Response | None:
    """Return the response that raised an ask, usually the predecessor."""
    previous = response.previous
    if previous is not None and previous.run_id == ask.run_id:
        return previous
    return Response.objects.filter(run=ask.run_id).first()


def _conversation(response: Response) -> tuple[tuple[str, str], ...]:
    """Return the (role, text) messages of earlier responses, oldest first, each text truncated."""
    messages: list[tuple[str, str]] = []
    before = response.previous
    for _ in range(REMEMBERED_TURNS):
        if before is None or before.deleted_at is not None:
            break
        outputs = [item for item in before.body["output"] if item["type"] == "message"]
        turn = [*_messages([row.data for row in before.inputs.order_by("position")])]
        turn += [("assistant", text_of(item["content"])) for item in outputs]
        messages = turn + messages
        before = before.previous
    return tuple((role, text[:REMEMBERED_WORDS]) for role, text in messages)


def _messages(items: Iterable[Json]) -> tuple[tuple[str, str], ...]:
    return tuple(message for item in items if (message := told(item)) is not None)
