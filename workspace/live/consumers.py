"""The live streams: a session's events, and a person's queue.

A socket is accepted before its access is checked: a browser sees the close code only of an open
socket. It subscribes before its first read, so no event is missed. One pump per socket is the only
sender, so messages stay in order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from itertools import count
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import User

from agents.db.retrying import LOST, in_database
from workspace.live import access_checks, listener
from workspace.live.event_buffer import KEPT, EventBuffer
from workspace.live.hub import live_hub
from workspace.live.subscriber import (
    AHEAD,
    BAD_CURSOR,
    NO_ACCESS,
    NO_SUCH_STREAM,
    TOO_BIG,
    Subscriber,
)
from workspace.pages import fragments

log = logging.getLogger("workspace.live")

#: Seconds of silence before the server sends a heartbeat.
HEARTBEAT = 15.0
#: Seconds after a message during which changes are collected for the next one.
GATHER = 0.025
#: The maximum length of a browser's message, in characters; none is expected.
HEARD = 1_000


Work = Callable[[Subscriber], Awaitable[None]]


class LiveStream(AsyncWebsocketConsumer):
    """One socket of a signed-in person. Subclasses define its content."""

    watcher: Subscriber | None = None
    pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        self.watcher = Subscriber(self._login(), self._session_id())
        live_hub().join(self.watcher)
        self.pump = asyncio.create_task(self._pump(self.watcher))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignore messages from the browser; close the socket if one is too long."""
        if self.watcher and len(text_data or bytes_data or "") > HEARD:
            self.watcher.end(TOO_BIG)

    async def disconnect(self, code: int) -> None:  # noqa: ARG002 -- as Channels calls it
        if self.pump:
            self.pump.cancel()
        if self.watcher:
            live_hub().leave(self.watcher)

    def _login(self) -> str:
        return str(self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, ""))

    def _session_id(self) -> int | None:
        return None

    def _asked(self, name: str) -> str:
        query = parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return query.get(name, [""])[-1]

    async def _admit(self, watcher: Subscriber) -> None:
        """Admit the person, or close the socket with a reason.

        The topics follow from the login, so read it again if rights changed during the read.
        """
        while True:
            before = live_hub().rights_moved
            people = await in_database(access_checks.people_by_login, [watcher.login])
            person = people.get(watcher.login)
            if person is None:
                watcher.end(NO_ACCESS)
                return
            live_hub().admit(watcher, person)
            if live_hub().rights_moved == before:
                break
        await self._begin(watcher, person)
        watcher.wake()

    async def _begin(self, watcher: Subscriber, person: User) -> None:
        raise NotImplementedError

    async def _next_message(self) -> str:
        """Return the next message for the browser; empty if there is nothing new."""
        raise NotImplementedError

    async def _pump(self, watcher: Subscriber) -> None:
        """Send all messages of this socket until it ends."""
        await self._until_it_works(self._admit, watcher)
        while not watcher.is_over:
            await self._until_it_works(self._send_while_open, watcher)
        await self.close(watcher.ended)

    async def _until_it_works(self, work: Work, watcher: Subscriber) -> None:
        """Retry while the database is unavailable; the socket stays open and continues where it was.

        It is silent meanwhile, so a browser that waits too long reconnects.
        """
        for failures in count(1):
            try:
                return await work(watcher)
            except LOST as error:
                log.warning("A stream waits for the database: %s", error)
            except Exception:
                log.exception("A stream broke and tries again.")
            watcher.wake()
            await asyncio.sleep(listener.reconnect_pause(failures))
        return None

    async def _send_while_open(self, watcher: Subscriber) -> None:
        spoke = time.monotonic()
        while True:
            # A wake without news must not delay the heartbeat.
            woken = await watcher.woken(spoke + HEARTBEAT - time.monotonic())
            if watcher.is_over:
                return
            message = await self._next_message() if woken else fragments.HEARTBEAT
            if not message:
                continue
            await self.send(message)
            spoke = time.monotonic()
            if woken:
                watcher.wake()  # there may be more than one message's worth
                await asyncio.sleep(GATHER)


class SessionStream(LiveStream):
    """/ws/sessions/<id>/?after=<seq>: a session's events above the cursor, then new ones."""

    cursor: int
    tail: EventBuffer

    def _session_id(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["session_id"])

    async def _begin(self, watcher: Subscriber, person: User) -> None:
        cursor, session_id = parse_cursor(self._asked("after")), self._session_id()
        last = await in_database(access_checks.last_seq_seen_by, person, session_id)
        if last is None:
            watcher.end(NO_ACCESS)
        elif cursor is None:
            watcher.end(BAD_CURSOR)
        elif cursor > last:
            watcher.end(AHEAD)
        else:
            self.cursor = cursor
            # Browsers that come back together after a restart are behind by the same few events.
            self.tail = live_hub().tail(session_id, max(cursor, last - KEPT))

    async def _next_message(self) -> str:
        items = await self.tail.after(self.cursor)
        if not items:
            return ""
        self.cursor = items[-1].seq
        return fragments.thread_html(item.html for item in items)


class QueueStream(LiveStream):
    """/ws/queue/?have=ask-1,session-2: changes from those cards to the person's queue."""

    have: frozenset[str]

    async def _begin(self, watcher: Subscriber, person: User) -> None:  # noqa: ARG002
        self.have = fragments.held_fragments(self._asked("have"))
        self.desk = live_hub().desk(person)

    async def _next_message(self) -> str:
        changes = await self.desk.changes(self.have)
        self.have = changes.have
        return changes.html


class AskStream(LiveStream):
    """/ws/asks/<id>/?have=ask-1.2: changes of one ask, for its page."""

    have: frozenset[str]

    async def _begin(self, watcher: Subscriber, person: User) -> None:  # noqa: ARG002
        self.have = fragments.held_fragments(self._asked("have"))
        self.person = person
        self.ask_id = int(self.scope["url_route"]["kwargs"]["ask_id"])

    async def _next_message(self) -> str:
        changes = await in_database(fragments.ask_changes, self.person, self.ask_id, self.have)
        self.have = changes.have
        return changes.html


class BadgeStream(LiveStream):
    """/ws/badge/?shown=3: the number of waiting cards, for pages without the queue."""

    shown: int | None

    async def _begin(self, watcher: Subscriber, person: User) -> None:  # noqa: ARG002
        self.shown = parse_cursor(self._asked("shown"))
        self.desk = live_hub().desk(person)

    async def _next_message(self) -> str:
        count = await self.desk.count()
        if count == self.shown:
            return ""
        self.shown = count
        return fragments.badge_html(count)


class NoSuchStream(AsyncWebsocketConsumer):
    """Any other address: close with a code that keeps the browser from reconnecting."""

    async def connect(self) -> None:
        await self.accept()
        await self.close(NO_SUCH_STREAM)


def parse_cursor(text: str) -> int | None:
    """Parse a cursor: digits of a bigint. Return 0 for an empty text, None for an invalid one."""
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
