"""Conduct one turn with a remote eve agent: read, send, follow the stream, and end the turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Given, Ignored, Started, Turn, TurnEvent, Usage
from asks.drafts import request_keys
from workspace.protocols.common import ended_approvals
from workspace.protocols.common.http_client import GarbledReply, Json, PermanentError, ServerAway
from workspace.protocols.common.memory import digest_given, load_memory
from workspace.protocols.common.turn_settings import TurnEnded
from workspace.protocols.eve.client import owner_asks
from workspace.protocols.eve.client.decoder import EveDecoder, Told
from workspace.protocols.eve.client.endings import EveEndings
from workspace.protocols.eve.client.http import (
    NOT_READY,
    EveClient,
    EveRefused,
    MessageTaken,
    SessionGone,
)
from workspace.protocols.eve.client.memory import PLACE, EveMemory
from workspace.protocols.eve.client.requests import RemoteRequest
from workspace.protocols.eve.client.settings import EveRemoteSettings
from workspace.protocols.eve.client.snapshot import EveSnapshot
from workspace.protocols.eve.client.stream import follow_stream, look_at_stream

WAITS = "Nothing was sent. The agent waits for an answer."
HELD = "The agent waits for an answer. Your message is kept and sent after that."
ENDED = "Ended by the owner. Nothing more was sent."
ELSEWHERE = "it was answered there already ({}); your answer was not sent"
LAPSED = "The approval has ended and was not sent. {}"
#: How often to send while the server is briefly unavailable, and the longest wait between, in
#: seconds.
TRIES, SHORT = 5, 5.0


@dataclass
class _Given:
    """The inputs of a turn: the owner's choices, answers by their request keys, and messages."""

    choices: list[Given] = field(default_factory=list)
    answers: dict[str, Given] = field(default_factory=dict)
    words: list[Given] = field(default_factory=list)


class EveConversation:
    """A turn. ``events`` may be closed at any point; the next turn continues reading from there."""

    def __init__(
        self, turn: Turn, settings: EveRemoteSettings, known: EveSnapshot, server: EveClient
    ) -> None:
        self._turn, self._settings, self._known, self._server = turn, settings, known, server
        self.memory = load_memory(EveMemory, PLACE, turn.session_data, turn.left_behind)
        self.endings = EveEndings(turn, settings, known, self.memory)
        self._hearing = self._hear_on()
        self._saying = ""
        self._overheard: list[Told] = []

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        try:
            async with aclosing(self._whole()) as events:
                async for event in events:
                    yield event
            ended = self._ended_well()
        except TurnEnded as over:
            ended = over.ended
        except (ServerAway, SessionGone, EveRefused, PermanentError) as trouble:
            self._keep()
            ended = self._ended_badly(trouble)
        if self._hearing.usage:
            yield Usage(dict(self._hearing.usage))
        yield ended

    async def _whole(self) -> AsyncGenerator[TurnEvent, None]:
        given = _sort_inputs(self._turn.given, self.memory.done)
        parts = [self._catch_up(), self._send_answers(given), self._send_messages(given)]
        if given.choices:
            last = given.choices[-1]
            # Ending a session, or starting another, does not wait for it.
            place = 1 if last.data.get("option") == owner_asks.AGAIN else 0
            parts.insert(place, self._carry_out_choice(last))
        for part in parts:
            async with aclosing(part) as events:
                async for event in events:
                    yield event

    async def _catch_up(self) -> AsyncGenerator[TurnEvent, None]:
        """Read what happened since the last turn. A request may have been answered there."""
        if not self.memory.session_id:
            return
        async with aclosing(
            look_at_stream(self._server, self.memory.session_id, self._hearing)
        ) as events:
            async for event in events:
                yield event
        if self.memory.expecting or not self._hearing.resting:
            async with aclosing(self._follow(expects=self.memory.expecting)) as more:
                async for later in more:
                    yield later
        self._keep()

    async def _send_answers(self, given: _Given) -> AsyncGenerator[TurnEvent, None]:
        """Send the answers to requests that still wait there, all at once."""
        sending: dict[str, Given] = {}
        for key, answer in given.answers.items():
            if key in self.memory.pending and (why := ended_approvals.why_ended(answer)):
                self.endings.not_taken[key] = LAPSED.format(why)
            elif key in self.memory.pending:
                sending[key] = answer
            elif key not in self.endings.not_taken:
                how = self._hearing.resolved.get(key, "answered")
                yield Ignored(answer.body[:2000], ELSEWHERE.format(how))
        responses = self._responses(sending)
        if not responses:
            return
        said = " and ".join(f"“{answer.body[:200]}”" for answer in sending.values())
        body = {"inputResponses": responses}
        async with aclosing(
            self._exchange(body, list(sending.values()), said or _("your withdrawal"))
        ) as events:
            async for event in events:
                yield event
        for key in sending:
            if key in self.memory.pending:
                self.endings.not_taken[key] = _not_taken(self._hearing)

    def _responses(self, sending: dict[str, Given]) -> list[Json]:
        """Return the answers, and refusals of withdrawn requests: a message could approve those later."""
        pending, withdrawn = self.memory.pending, self._known.withdrawn
        responses = [_response(pending[key], answer) for key, answer in sending.items()]
        taken_back = [key for key in pending if key in withdrawn and key not in sending]
        return responses + [pending[key].refusal() for key in taken_back]

    async def _send_messages(self, given: _Given) -> AsyncGenerator[TurnEvent, None]:
        """Send messages. While a request waits they are kept, because they could count as its answer."""
        words, memory = [*_held(self.memory.held), *given.words], self.memory
        if memory.pending:
            memory.held = [one.body for one in words]
            if given.words:
                self.endings.reports.append(HELD)
            elif not self._turn.given and not self._hearing.moved:
                raise TurnEnded(self.endings.over(WAITS))
            return
        if words:
            memory.held = []
            body = {"message": "\n\n".join(one.body for one in words)}
            async with aclosing(self._send_text(body, words)) as events:
                async for event in events:
                    yield event
        elif not self._turn.given:
            async with aclosing(self._send_usual()) as events:
                async for event in events:
                    yield event

    async def _send_usual(self) -> AsyncGenerator[TurnEvent, None]:
        """Handle a turn without input: it has read the stream, or sends the agent's usual input."""
        if self._hearing.moved:
            return
        mark = f"run-{self._turn.run_id}"
        if mark in self.memory.done:
            return
        self.memory.forget()
        usual = self._settings.input or self._turn.agent.mission or self._turn.agent.name
        async with aclosing(self._send_text({"message": usual}, (), mark)) as events:
            async for event in events:
                yield event

    async def _send_text(
        self, body: Json, words: Iterable[Given], mark: str = ""
    ) -> AsyncGenerator[TurnEvent, None]:
        if not self.memory.session_id:
            self.memory.first = str(body["message"])
        async with aclosing(self._exchange(body, list(words), _("your message"), mark)) as events:
            async for event in events:
                yield event

    async def _carry_out_choice(self, choice: Given) -> AsyncGenerator[TurnEvent, None]:
        """Carry out the owner's choice about a session that did not end cleanly. Raises TurnEnded."""
        picked, unsent = str(choice.data.get("option", "")), self.memory.unsent
        self.memory.unsent = None
        if picked == owner_asks.END:
            raise TurnEnded(self.endings.over(ENDED, Outcome.WORK_DONE))
        body = unsent.body if unsent and picked == owner_asks.AGAIN else None
        if picked == owner_asks.FRESH:
            self.memory.forget()
            body = {"message": self.memory.first or self._turn.agent.mission}
        if body is not None:
            async with aclosing(self._exchange(body, [choice], _("your message"))) as events:
                async for event in events:
                    yield event

    async def _exchange(
        self, body: Json, given: list[Given], said: str, mark: str = ""
    ) -> AsyncGenerator[TurnEvent, None]:
        """Send a message or answers, and follow the result."""
        self._saying = said
        if not self._was_taken(body, said):
            self.memory.sending = said
            yield self._note()
            self._hearing.mark()
            await self._send(body, said)
            for item in self._overheard:
                yield item
            self.memory.expecting = True
        self.memory.done += [*(digest_given(one) for one in given), *([mark] if mark else [])]
        self.memory.sending = ""
        yield self._note()
        async with aclosing(self._follow(expects=self.memory.expecting)) as events:
            async for event in events:
                yield event
        self._keep()

    def _was_taken(self, body: Json, said: str) -> bool:
        """Whether a message that a stopped worker was sending has arrived. Raises TurnEnded if unsure.

        An answer is sent again without a check, because it counts only once there.
        """
        in_doubt, self.memory.sending = self.memory.sending, ""
        if not in_doubt or "message" not in body:
            return False
        if self.memory.session_id and body["message"] in self._hearing.heard:
            return True
        raise TurnEnded(self.endings.unsure(body, "A worker stopped while it was sending.", said))

    async def _send(self, body: Json, said: str) -> None:
        """Send. If the reply is lost, look for the message on the stream.

        Raises TurnEnded and the errors of the server.
        """
        try:
            taken = await self._post(body)
        except ServerAway as away:
            if away.may_have_taken and self.memory.session_id and await self._arrived(body):
                return
            self.memory.sending = ""
            if away.may_have_taken:
                self._doubt(body, said, away)
            raise
        except (SessionGone, EveRefused, GarbledReply):
            self.memory.sending = ""
            raise
        if not self.memory.session_id:
            self.memory.session_id, self.memory.token = taken.session_id, taken.token
            self._hearing = self._hear_on()
            self._hearing.resting = False
        elif taken.session_id != self.memory.session_id:
            raise SessionGone("The server did not continue this session, but created another.")

    def _doubt(self, body: Json, said: str, away: ServerAway) -> None:
        """End a turn whose message may have arrived. Raises TurnEnded.

        An answer can be sent again, because it counts only once. A message would arrive twice.
        """
        self._keep()
        if "inputResponses" in body:
            raise TurnEnded(self.endings.broke(str(away))) from away
        raise TurnEnded(self.endings.unsure(body, str(away), said)) from away

    async def _post(self, body: Json) -> MessageTaken:
        """Send, and retry while the server is unavailable for a moment."""
        token = {"continuationToken": self.memory.token} if self.memory.token else {}
        for attempt in range(TRIES):
            try:
                if not self.memory.session_id:
                    return await self._server.create(str(body["message"]))
                return await self._server.send(self.memory.session_id, {**body, **token})
            except ServerAway as away:
                wait = away.retry_after
                if away.may_have_taken or wait is None or wait > SHORT or attempt == TRIES - 1:
                    raise
                await asyncio.sleep(wait)
        raise ServerAway(NOT_READY)  # never reached: the last attempt raises

    async def _arrived(self, body: Json) -> bool:
        """Whether a message whose reply was lost is on the stream."""
        async for item in look_at_stream(self._server, self.memory.session_id, self._hearing):
            self._overheard.append(item)
        if "message" in body:
            return body["message"] in self._hearing.heard
        asked = [one["requestId"] for one in body["inputResponses"]]
        return not any(request.requestId in asked for request in self._hearing.pending.values())

    async def _follow(self, *, expects: bool = False) -> AsyncGenerator[TurnEvent, None]:
        """Read the stream until the agent is idle; with ``expects`` not before something happened.

        After a request the agent may make another a moment later, so the stream is read again.
        """
        hearing, name = self._hearing, self.memory.session_id
        stream = follow_stream(self._server, name, hearing, self._settings, expects=expects)
        async with aclosing(stream) as events:
            async for event in events:
                yield event
        self.memory.expecting = False
        if hearing.pending and not hearing.dead:
            async with aclosing(look_at_stream(self._server, name, hearing)) as events:
                async for event in events:
                    yield event
            if not hearing.resting:
                async with aclosing(self._follow()) as more:
                    async for later in more:
                        yield later

    def _hear_on(self) -> EveDecoder:
        memory = self.memory
        return EveDecoder(
            cursor=memory.cursor,
            version=memory.version,
            resting=memory.resting,
            pending=memory.pending,
            before=self._known.before,
        )

    def _keep(self) -> None:
        """Store what was read so far, and forget a session that has ended."""
        hearing, memory = self._hearing, self.memory
        memory.cursor, memory.resting = hearing.cursor, hearing.resting
        memory.pending, memory.version = hearing.pending, self._server.version or memory.version
        if hearing.dead:
            memory.forget()

    def _note(self) -> Started:
        """Record the memory: before anything is sent, and again once it is accepted."""
        return Started({PLACE: self.memory.model_dump(mode="json")})

    def took_too_long(self) -> Ended:
        """End a turn that exceeded its limit, and store what was read."""
        self._keep()
        return self.endings.took_too_long()

    def _ended_badly(self, trouble: Exception) -> Ended:
        if isinstance(trouble, ServerAway):
            return self.endings.away(trouble)
        if isinstance(trouble, SessionGone):
            return self.endings.lost(str(trouble), self._saying)
        return self.endings.failed(str(trouble))

    def _ended_well(self) -> Ended:
        hearing = self._hearing
        self._keep()
        if hearing.last_words and not self.memory.pending:
            self.endings.reports.append(hearing.last_words)
        if hearing.error:
            return self.endings.failed(f"The agent's turn failed: {hearing.error}")
        return self.endings.well()


def _sort_inputs(given: Iterable[Given], done: list[str]) -> _Given:
    """Sort the inputs that have not reached the agent yet."""
    inputs = _Given()
    for one in given:
        key = request_keys.root_of(str(one.data.get("request_key", "")))
        if digest_given(one) in done:
            continue
        if one.kind != "verdict":
            inputs.words.append(one)
        elif owner_asks.is_ours(key):
            inputs.choices.append(one)
        else:
            inputs.answers[key] = one
    return inputs


def _held(held: list[str]) -> list[Given]:
    """Return the messages that were kept while a request waited."""
    return [Given(kind="message", author="", body=words) for words in held]


def _response(request: RemoteRequest, given: Given) -> Json:
    option, text = str(given.data.get("option", "")), str(given.data.get("text", ""))
    if not option and not text:
        text = given.body
    return request.answer(option, text)


def _not_taken(hearing: EveDecoder) -> str:
    headline = _("The agent did not accept your answer.")
    reply = _("It says: {text}").format(text=hearing.last_words) if hearing.last_words else ""
    return f"**{headline}** {reply}".strip()
