"""Conduct one turn with a remote agent: send, follow the responses, and end the turn."""

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
WAITS = "Nothing was sent. The agent waits for an answer."
ANSWERED = "the agent repeats a question that was answered already"
ENDED = "Ended by the owner. Nothing more was sent."


class ResponsesConversation:
    """A turn. ``events`` may be closed at any point; the next turn follows what is under way."""

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
                async with aclosing(self._carry_out(one)) as events:
                    async for event in events:
                        yield event
        except TurnEnded as over:
            yield over.ended
            return
        yield self.endings.well()

    def _to_do(self) -> Iterator[Send | Ignored]:
        """Yield the turn's requests, answers first, and the inputs that are not sent.

        Raises TurnEnded.
        """
        memory, settings = self.memory, self._settings
        given = [one for one in self._turn.given if digest_given(one) not in memory.done]
        inputs = sending.sort_given(given, memory)
        self.endings.lapsed |= {question.key for question in inputs.lapsed}
        for one in inputs.unknown:
            yield Ignored(one.body[:2000], "it was answered and sent before")
        if inputs.choices:
            yield self._carry_out_choice(inputs.choices)
        closed = self._forget_closed(inputs)
        yield from sending.prepare_answers(settings, memory, inputs)
        for messages in self._by_send(inputs.words):
            yield sending.prepare_message(settings, memory, messages)
        if self._turn.given:
            self._check_sent(inputs, closed=closed)
        elif closed or memory.pending:
            raise TurnEnded(self.endings.over(CLOSED if closed else WAITS))
        elif f"run-{self._turn.run_id}" not in memory.done:
            yield sending.prepare_usual_input(self._turn, settings, memory)

    def _by_send(self, messages: list[Given]) -> list[list[Given]]:
        """Split messages into those of the interrupted request and the rest.

        A request that is sent again must have the same contents.
        """
        batch = self.memory.under_way.batch if self.memory.under_way else []
        sent = [one for one in messages if digest_given(one) in batch]
        rest = [one for one in messages if digest_given(one) not in batch]
        return [part for part in (sent, rest) if part]

    def _check_sent(self, inputs: Sorted, *, closed: bool) -> None:
        """End the turn if its inputs led to nothing that could be sent. Raises TurnEnded."""
        if not self.memory.done and not inputs.choices and not inputs.words and not inputs.unknown:
            raise TurnEnded(self.endings.over(CLOSED if closed else WAITS))

    def _forget_closed(self, inputs: Sorted) -> bool:
        """Forget the questions that were closed here unanswered. Return whether there were any."""
        answered = {question.key for pairs in inputs.answers.values() for question, _ in pairs}
        waiting = {root_of(key) for key in self._known.waiting} | self.endings.lapsed
        for question in inputs.closed:
            waiting.discard(question.key)
        kept = answered | waiting | set(self.memory.held)
        # A question that another worker received in this turn is not asked yet.
        gone = [key for key in self.memory.pending if key not in kept and key in self._known.asked]
        for key in gone:
            del self.memory.pending[key]
        return bool(gone)

    def _carry_out_choice(self, choices: list[Given]) -> Send:
        """Carry out the owner's choice about a conversation that did not end cleanly.

        Raises TurnEnded.
        """
        unsent, choice = self.memory.unsent, str(choices[-1].data.get("option", ""))
        batch = tuple(digest_given(one) for one in choices)
        if choice == owner_asks.AGAIN and unsent is not None:
            return Send(body=unsent.body, batch=batch, calls=tuple(unsent.calls), said=unsent.said)
        if choice == owner_asks.FRESH:
            return sending.prepare_restart(self._settings, self.memory, batch)
        self.memory.taken(unsent.calls if unsent else [])
        self.memory.unsent = self.memory.under_way = None
        raise TurnEnded(self.endings.over(ENDED, Outcome.WORK_DONE))

    async def _carry_out(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
        """Send a request and follow its response, or continue the response that it already has."""
        under_way = self.memory.under_way
        self._reply = Reply(self._known.before)
        if under_way is not None and under_way.response and under_way.batch == list(send.batch):
            self._reply.name = under_way.response
        else:
            if under_way is not None and not self._settings.idempotent:
                # A worker died between sending and the server's reply.
                raise TurnEnded(self.endings.unsure(send, "A worker stopped while it was sending."))
            async with aclosing(self._send(send)) as events:
                async for event in events:
                    yield event
        async with aclosing(self._follow(send)) as events:
            async for event in events:
                yield event
        for event in self._finish(send):
            yield event

    async def _send(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
        """Send a request, and yield its response while the connection lasts. Raises TurnEnded."""
        yield self._note(send)
        trouble: Exception | None = None
        try:
            async with aclosing(self._server.send(send.body, self._key())) as events:
                async for event in events:
                    was_named = bool(self._reply.name)
                    for item in self._reply.hear(event):
                        yield item
                    if self._reply.name and not was_named:
                        yield self._note(send)
                    if self._reply.is_over:
                        break
        except BrokenReply as broken:
            trouble = UnsureReply(str(broken))
        except (ServerAway, UnsureReply, ResponsesRefused, PermanentError) as error:
            trouble = error
        if self._reply.name and isinstance(trouble, PermanentError):
            raise TurnEnded(self.endings.broke(str(trouble), for_good=True))
        if not self._reply.name:
            trouble = trouble or GarbledReply("The server's stream did not name a response.")
            raise TurnEnded(self.endings.not_taken(send, trouble))

    async def _follow(self, send: Send) -> AsyncGenerator[TurnEvent, None]:
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

    def _finish(self, send: Send) -> Iterator[TurnEvent]:
        """Record a response that has ended: its questions become asks. Raises TurnEnded if it failed."""
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
        yield from self._remember_questions(reply)
        if reply.text:
            self.endings.reports.append(reply.text)

    def _remember_questions(self, reply: Reply) -> Iterator[Ignored]:
        """Remember the questions of a response.

        A question that was answered is not asked again, even if the server repeats it. A different
        text with the same call_id is another question.
        """
        for place, question in enumerate(reply.questions.values()):
            if question.mark in self.memory.marks:
                yield Ignored(question.text[:2000], ANSWERED)
                continue
            question.times = 1 + self.memory.answered.count(question.call_id)
            question.response, question.place = reply.name, place
            self.memory.pending[question.key] = question

    def _note(self, send: Send) -> Started:
        """Record the request: before it is sent, and again once the response has a name."""
        self.memory.under_way = UnderWay(batch=list(send.batch), response=self._reply.name)
        return Started({PLACE: self.memory.model_dump(mode="json")})

    def _key(self) -> str:
        """Return the idempotency key: the same however often a request is sent, unique to it."""
        return f"needs-you-{self._turn.session_id}-{self.memory.sends}"


def _used(reply: Reply) -> dict[str, Any]:
    """Return the tokens used, and the cost that the agent's envelope reports."""
    used: dict[str, Any] = {name: n for name, n in reply.usage.items() if isinstance(n, int)}
    cost = reply.envelope.get("cost_usd")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        used["cost_usd"] = cost
    return used
