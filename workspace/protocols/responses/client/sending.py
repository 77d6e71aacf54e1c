"""Build the requests of a turn from the inputs that the session was given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from agents.running.runtime import Given, Turn
from asks.drafts.request_keys import root_of
from workspace.protocols.common import ended_approvals
from workspace.protocols.common.memory import digest_given
from workspace.protocols.responses.client.dialects import CLOSE, RemoteQuestion
from workspace.protocols.responses.client.memory import ResponsesMemory
from workspace.protocols.responses.client.owner_asks import is_ours
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.wire import Json


@dataclass(frozen=True, kw_only=True)
class Send:
    """A request.

    ``batch`` are the digests of its inputs, ``calls`` the call_ids that it answers, ``said`` its
    answer for people to read.
    """

    body: Json
    batch: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    said: str = ""

    @property
    def what(self) -> str:
        """Its contents, described for the owner."""
        if not self.calls:
            return _("the request")
        return _("your answer “{answer}”").format(answer=self.said)


@dataclass
class Sorted:
    """The inputs of a turn.

    ``choices`` answer the asks of this client, ``answers`` those of the agent, by the response that
    asked. ``words`` are messages, ``closed`` questions closed without an answer, ``lapsed`` those
    whose approval has ended, ``unknown`` verdicts about questions that are not pending.
    """

    choices: list[Given] = field(default_factory=list)
    answers: dict[str, list[tuple[RemoteQuestion, Given]]] = field(default_factory=dict)
    words: list[Given] = field(default_factory=list)
    closed: list[RemoteQuestion] = field(default_factory=list)
    unknown: list[Given] = field(default_factory=list)
    lapsed: list[RemoteQuestion] = field(default_factory=list)


def sort_given(given: Iterable[Given], memory: ResponsesMemory) -> Sorted:
    """Sort the inputs of a turn by what has to be done with them."""
    inputs = Sorted()
    for one in given:
        key = root_of(str(one.data.get("request_key", "")))
        question = memory.pending.get(key)
        if one.kind != "verdict":
            inputs.words.append(one)
        elif is_ours(key):
            inputs.choices.append(one)
        elif question is None:
            inputs.unknown.append(one)
        elif ended_approvals.why_ended(one):
            inputs.lapsed.append(question)
        elif not question.readable or one.data.get("option") == CLOSE:
            inputs.closed.append(question)
        else:
            inputs.answers.setdefault(question.response, []).append((question, one))
    return inputs


def prepare_answers(
    settings: RemoteSettings, memory: ResponsesMemory, inputs: Sorted
) -> list[Send]:
    """Return a request for each response whose questions are all answered now.

    The questions of a response are answered together. Until then the memory holds the answers.
    """
    sends = []
    for response, answered in inputs.answers.items():
        for question, given in answered:
            memory.held[question.key] = (str(given.data.get("option", "")), _text_of(given))
        waiting = [one for one in memory.pending.values() if one.response == response]
        asked = sorted(waiting, key=lambda one: one.place)
        if all(question.key in memory.held for question in asked):
            sends.append(_prepare_answer(settings, memory, response, asked, answered))
    return sends


def _prepare_answer(
    settings: RemoteSettings,
    memory: ResponsesMemory,
    response: str,
    asked: Sequence[RemoteQuestion],
    answered: Sequence[tuple[RemoteQuestion, Given]],
) -> Send:
    said = " and ".join(str(given.data.get("label") or _text_of(given)) for _, given in answered)
    items = [question.answer(*memory.held[question.key]) for question in asked]
    if isinstance(items[0], str):
        # The devui dialect has no input item for an answer: the whole input is a text.
        body: Json = {"input": items[0]}
        if memory.conversation:
            body["conversation"] = memory.conversation
    else:
        body = {"previous_response_id": response, "input": items}
    return Send(
        body=_complete(settings, body, bare=True),
        batch=tuple(digest_given(given) for _, given in answered),
        calls=tuple(question.call_id for question in asked),
        said=said[:200],
    )


def prepare_message(
    settings: RemoteSettings, memory: ResponsesMemory, messages: Sequence[Given]
) -> Send:
    """Return a request with messages, as the next or the first input of the conversation."""
    text = "\n\n".join(message.body for message in messages)
    body: Json = {"input": text}
    if memory.last:
        body["previous_response_id"] = memory.last
    else:
        memory.first = text
    return Send(body=_complete(settings, body), batch=tuple(map(digest_given, messages)))


def prepare_usual_input(turn: Turn, settings: RemoteSettings, memory: ResponsesMemory) -> Send:
    """Return the request of a turn without input: it starts a new conversation."""
    memory.first = settings.input or turn.agent.mission or turn.agent.name
    body = _complete(settings, {"input": memory.first})
    return Send(body=body, batch=(f"run-{turn.run_id}",))


def prepare_restart(
    settings: RemoteSettings, memory: ResponsesMemory, batch: tuple[str, ...]
) -> Send:
    """Return the conversation's first request again, to start another conversation."""
    memory.last, memory.pending, memory.held = "", {}, {}
    return Send(body=_complete(settings, {"input": memory.first or ""}), batch=batch)


def _complete(settings: RemoteSettings, body: Json, *, bare: bool = False) -> Json:
    """Add the fields of every request. A ``bare`` request, an answer, has no metadata."""
    common: dict[str, Any] = {"stream": not settings.poll}
    if settings.model:
        common["model"] = settings.model
    if settings.background:
        common["background"] = True
    if settings.metadata and not bare:
        common["metadata"] = settings.metadata
    return {**body, **common}


def _text_of(given: Given) -> str:
    if given.data.get("text"):
        return str(given.data["text"])
    return "" if given.data.get("option") else given.body
