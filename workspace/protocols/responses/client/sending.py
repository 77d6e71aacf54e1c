"""What a turn has to send to a remote agent, out of what its session is owed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.running.runtime import Given, Turn
from asks.drafts.request_keys import root_of
from workspace.protocols.common.memory import digest_given
from workspace.protocols.responses.client.dialects import CLOSE, RemoteQuestion
from workspace.protocols.responses.client.memory import ResponsesMemory
from workspace.protocols.responses.client.owner_asks import is_ours
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.wire import Json


@dataclass(frozen=True, kw_only=True)
class Send:
    """One request. ``calls`` are the questions it answers, ``said`` the answer in words."""

    body: Json
    batch: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    said: str = ""

    @property
    def what(self) -> str:
        """What it carries, in words for its owner."""
        return f"your answer “{self.said}”" if self.calls else "the request"


@dataclass
class Sorted:
    """What a turn was given: the owner's choices, answers by the response that asked, words."""

    choices: list[Given] = field(default_factory=list)
    answers: dict[str, list[tuple[RemoteQuestion, Given]]] = field(default_factory=dict)
    words: list[Given] = field(default_factory=list)
    closed: list[RemoteQuestion] = field(default_factory=list)
    unknown: list[Given] = field(default_factory=list)


def sort_given(given: Iterable[Given], memory: ResponsesMemory) -> Sorted:
    """Sort what was given."""
    found = Sorted()
    for one in given:
        key = root_of(str(one.data.get("request_key", "")))
        question = memory.pending.get(key)
        if one.kind != "verdict":
            found.words.append(one)
        elif is_ours(key):
            found.choices.append(one)
        elif question is None:
            found.unknown.append(one)
        elif not question.readable or one.data.get("option") == CLOSE:
            found.closed.append(question)
        else:
            found.answers.setdefault(question.response, []).append((question, one))
    return found


def prepare_answers(settings: RemoteSettings, memory: ResponsesMemory, found: Sorted) -> list[Send]:
    """One request for each response whose questions are all answered now.

    Several questions of one response are answered together: what is there is held till then.
    """
    sends = []
    for response, answered in found.answers.items():
        for question, given in answered:
            memory.held[question.key] = (str(given.data.get("option", "")), _words_of(given))
        waiting = [one for one in memory.pending.values() if one.response == response]
        asked = sorted(waiting, key=lambda one: one.place)
        if all(question.key in memory.held for question in asked):
            sends.append(_answer(settings, memory, response, asked, answered))
    return sends


def _answer(
    settings: RemoteSettings,
    memory: ResponsesMemory,
    response: str,
    asked: Sequence[RemoteQuestion],
    answered: Sequence[tuple[RemoteQuestion, Given]],
) -> Send:
    said = " and ".join(str(given.data.get("label") or _words_of(given)) for _, given in answered)
    items = [question.answer(*memory.held[question.key]) for question in asked]
    if isinstance(items[0], str):
        # This dialect has no item for an answer: the whole input is one.
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
    settings: RemoteSettings, memory: ResponsesMemory, said: Sequence[Given]
) -> Send:
    """What people and agents wrote, as the next words of the conversation or its first."""
    text = "\n\n".join(one.body for one in said)
    body: Json = {"input": text}
    if memory.last:
        body["previous_response_id"] = memory.last
    else:
        memory.first = text
    return Send(body=_complete(settings, body), batch=tuple(digest_given(one) for one in said))


def prepare_usual_input(turn: Turn, settings: RemoteSettings, memory: ResponsesMemory) -> Send:
    """What the agent does when it was given nothing: a conversation of its own."""
    memory.first = settings.input or turn.agent.mission or turn.agent.name
    body = _complete(settings, {"input": memory.first})
    return Send(body=body, batch=(f"run-{turn.run_id}",))


def prepare_restart(
    settings: RemoteSettings, memory: ResponsesMemory, batch: tuple[str, ...]
) -> Send:
    """The first request of the conversation once more, as the beginning of another."""
    memory.last, memory.pending, memory.held = "", {}, {}
    return Send(body=_complete(settings, {"input": memory.first or ""}), batch=batch)


def _complete(settings: RemoteSettings, body: Json, *, bare: bool = False) -> Json:
    """With what every request says. An answer says no more than it must: no metadata."""
    more: dict[str, Any] = {"stream": not settings.poll}
    if settings.model:
        more["model"] = settings.model
    if settings.background:
        more["background"] = True
    if settings.metadata and not bare:
        more["metadata"] = settings.metadata
    return {**body, **more}


def _words_of(given: Given) -> str:
    if given.data.get("text"):
        return str(given.data["text"])
    return "" if given.data.get("option") else given.body
