"""One turn's conversation with a remote agent: sends, follows, and says how it ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from agents.lifecycle import Outcome
from agents.running.runtime import Given, Ignored, Started, Turn, TurnEvent, Usage
from asks.drafts.request_keys import root_of
from workspace.protocols.common.http_client import GarbledReply, PermanentError, ServerAway
from workspace.protocols.common.memory import digest_given, load_memory
from workspace.protocols.common.turn_settings import TurnEnded
from workspace.protocols.responses.client import owner_asks, sending
from workspace.protocols.responses.client.endings import ResponsesEndings
from workspace.protocols.responses.client.http import (
    BrokenReply,
    ResponsesClient,
    ResponsesRefused,
    UnsureReply,
)
from workspace.protocols.responses.client.memory import PLACE, ResponsesMemory, UnderWay
from workspace.protocols.responses.client.reply import Reply
from workspace.protocols.responses.client.sending import Send, Sorted
from workspace.protocols.responses.client.settings import RemoteSettings
from workspace.protocols.responses.client.snapshot import ResponsesSnapshot
from workspace.protocols.responses.client.stream import follow_stream

CLOSED = "The question was closed without an answer. Nothing was sent."
WAITS = "Nothing was sent: it waits for an answer."
ANSWERED = "the agent asks it again, and it was answered; one question is answered once"
ENDED = "Ended by the owner. Nothing more was sent."


class ResponsesConversation:
    """A turn. ``events`` may be closed at any point: what is under way is followed next time."""

    def __init__(
        self,
        turn: Turn,
        settings: RemoteSettings,
        known: ResponsesSnapshot,
        server: ResponsesClient,
    ) -> None:
        self._turn, self._settings, self._known, self._server = turn, settings, known, server
        self.memory = load_memory(ResponsesMemory, PLACE, turn.session_data, turn.left_behind)
        self.endings = ResponsesEndings(turn, settings, known, self.memory)
        self._reply = Reply(known.before)

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        try:
            for one in self._to_do():
                if isinstance(one, Ignored):
                    yield one
                    continue
                async with aclosing(self._carried(one)) as told:
                    async for event in told:
                        yield event
        except TurnEnded as over:
            yield over.ended
            return
        yield self.endings.well()

    def _to_do(self) -> Iterator[Send | Ignored]:
        """The requests of this turn, answers first, and what is not sent. Raises Over."""
        memory, settings = self.memory, self._settings
        given = [one for one in self._turn.given if digest_given(one) not in memory.done]
        found = sending.sort_given(given, memory)
        for one in found.unknown:
            yield Ignored(one.body[:2000], "it was answered and sent before")
        if found.choices:
            yield self._chosen(found.choices)
        closed = self._forget_closed(found)
        yield from sending.prepare_answers(settings, memory, found)
        for said in self._by_send(found.words):
            yield sending.prepare_message(settings, memory, said)
        if self._turn.given:
            self._check_sent(found, closed=closed)
        elif closed or memory.pending:
            raise TurnEnded(self.endings.over(CLOSED if closed else WAITS))
        elif f"run-{self._turn.run_id}" not in memory.done:
            yield sending.prepare_usual_input(self._turn, settings, memory)

    def _by_send(self, words: list[Given]) -> list[list[Given]]:
        """What was sent before goes alone: with more in it, it would be another request."""
        batch = self.memory.under_way.batch if self.memory.under_way else []
        sent = [one for one in words if digest_given(one) in batch]
        rest = [one for one in words if digest_given(one) not in batch]
        return [part for part in (sent, rest) if part]

    def _check_sent(self, found: Sorted, *, closed: bool) -> None:
        """Say so when what was given led to nothing that could be sent."""
        if not self.memory.done and not found.choices and not found.words and not found.unknown:
            raise TurnEnded(self.endings.over(CLOSED if closed else WAITS))

    def _forget_closed(self, found: Sorted) -> bool:
        """Drop the questions that were closed unanswered here; whether there were any."""
        answered = {question.key for pairs in found.answers.values() for question, _ in pairs}
        waiting = {root_of(key) for key in self._known.waiting}
        for question in found.closed:
            waiting.discard(question.key)
        kept = answered | waiting | set(self.memory.held)
        # A question that another worker heard in this very turn is not asked yet.
        gone = [key for key in self.memory.pending if key not in kept and key in self._known.asked]
        for key in gone:
            del self.memory.pending[key]
        return bool(gone)

    def _chosen(self, choices: list[Given]) -> Send:
        """What the owner said about a conversation that came to no plain end. Raises Over."""
        unsent, choice = self.memory.unsent, str(choices[-1].data.get("option", ""))
        batch = tuple(digest_given(one) for one in choices)
        if choice == owner_asks.AGAIN and unsent is not None:
            return Send(body=unsent.body, batch=batch, calls=tuple(unsent.calls), said=unsent.said)
        if choice == owner_asks.FRESH:
            return sending.prepare_restart(self._settings, self.memory, batch)
        self.memory.taken(unsent.calls if unsent else [])
        self.memory.unsent = self.memory.under_way = None
        raise TurnEnded(self.endings.over(ENDED, Outcome.WORK_DONE))

    async def _carried(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
        """Send a request and follow its response, or go on with the one that it has already."""
        under_way = self.memory.under_way
        self._reply = Reply(self._known.before)
        if under_way is not None and under_way.response and under_way.batch == list(send.batch):
            self._reply.name = under_way.response
        else:
            if under_way is not None and not self._settings.idempotent:
                # A worker died between sending and the server's word.
                raise TurnEnded(
                    self.endings.unsure(send, "A worker ended in the middle of sending.")
                )
            async with aclosing(self._sent(send)) as told:
                async for event in told:
                    yield event
        async with aclosing(self._followed(send)) as told:
            async for event in told:
                yield event
        for event in self._finished(send):
            yield event

    async def _sent(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
        """Send a request, and hear its response as far as the connection holds. Raises Over."""
        yield self._note(send)
        trouble: Exception | None = None
        try:
            async with aclosing(self._server.send(send.body, self._key())) as events:
                async for event in events:
                    was_named = bool(self._reply.name)
                    for told in self._reply.hear(event):
                        yield told
                    if self._reply.name and not was_named:
                        yield self._note(send)
                    if self._reply.is_over:
                        break
        except BrokenReply as broken:
            trouble = UnsureReply(str(broken))
        except (ServerAway, UnsureReply, ResponsesRefused, PermanentError) as found:
            trouble = found
        if self._reply.name and isinstance(trouble, PermanentError):
            raise TurnEnded(self.endings.broke(str(trouble), for_good=True))
        if not self._reply.name:
            trouble = trouble or GarbledReply("The server's stream named no response.")
            raise TurnEnded(self.endings.not_taken(send, trouble))

    async def _followed(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
        try:
            async with aclosing(follow_stream(self._server, self._reply, self._settings)) as events:
                async for event in events:
                    yield event
        except ServerAway as away:
            raise TurnEnded(self.endings.away(away)) from away
        except ResponsesRefused as refused:
            raise TurnEnded(self.endings.lost(send, str(refused))) from refused
        except PermanentError as trouble:
            raise TurnEnded(self.endings.broke(str(trouble), for_good=True)) from trouble

    def _finished(self, send: Send) -> Iterator[TurnEvent]:
        """The response is over: its questions become asks. Raises Over when it failed."""
        reply, memory = self._reply, self.memory
        memory.under_way = memory.unsent = None
        memory.sends += 1
        if used := _used(reply):
            yield Usage(used)
        if reply.status != "completed" or reply.envelope.get("status") == "failed":
            raise TurnEnded(self.endings.failed(send, reply.status, reply.error))
        memory.taken(send.calls)
        memory.done += send.batch
        memory.last, memory.conversation = reply.name, reply.conversation or memory.conversation
        yield from self._asked(reply)
        if reply.text:
            self.endings.reports.append(reply.text)

    def _asked(self, reply: Reply) -> Iterator[Ignored]:
        """Remember what is asked. What was answered is not asked again, however a server repeats it;
        other words under the same call_id are another question.
        """
        for place, question in enumerate(reply.questions.values()):
            if question.mark in self.memory.marks:
                yield Ignored(question.text[:2000], ANSWERED)
                continue
            question.times = 1 + self.memory.answered.count(question.call_id)
            question.response, question.place = reply.name, place
            self.memory.pending[question.key] = question

    def _note(self, send: Send) -> Started:
        """Written down before anything is sent, and again once the response has a name."""
        self.memory.under_way = UnderWay(batch=list(send.batch), response=self._reply.name)
        return Started({PLACE: self.memory.model_dump(mode="json")})

    def _key(self) -> str:
        """The same for the same request however often it is sent, and for no other."""
        return f"needs-you-{self._turn.session_id}-{self.memory.sends}"


def _used(reply: Reply) -> dict[str, Any]:
    """Tokens, and what the agent's shell says that it cost."""
    used: dict[str, Any] = {name: n for name, n in reply.usage.items() if isinstance(n, int)}
    cost = reply.envelope.get("cost_usd")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        used["cost_usd"] = cost
    return used
