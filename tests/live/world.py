"""What the live tests watch: people, an agent of theirs, and a session in which things happen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from agents.events.log import NewEvent, record_event, record_events
from agents.lifecycle import AgentState
from agents.locking import lock_session
from agents.models import Agent, Session
from agents.registration import open_session

P = ParamSpec("P")
R = TypeVar("R")
_SEQ = re.compile(r'data-seq="(\d+)"')


def person(name: str) -> User:
    return User.objects.create_user(name)


def session_of(*owners: User, slug: str = "ledger") -> Session:
    """The home session of a new agent; opening it is its event 1."""
    agent = Agent.objects.create(
        slug=slug,
        name=slug,
        runtime="markers",
        lifecycle=AgentState.ACTIVE,
        wake_policy={"kind": "manual"},
    )
    agent.owners.set(owners)
    return open_session(agent, is_home=True)


def say(session: Session, *texts: str) -> int:
    """One event per text, all in one transaction; the number of the last."""
    with transaction.atomic():
        locked = lock_session(session.pk)
        record_events(
            locked, [NewEvent("output", "agent:ledger", text) for text in texts], run=None
        )
    return int(locked.last_seq)


def say_each(session: Session, texts: Iterable[str]) -> None:
    for text in texts:
        say(session, text)


def say_silently(session: Session, text: str) -> int:
    """An event whose hint is lost, as when nobody is listening just then."""
    with transaction.atomic():
        locked = lock_session(session.pk)
        record_event(locked, "output", actor="agent:ledger", text=text)
        connection.run_on_commit.clear()
    return int(locked.last_seq)


def login_of(user: User) -> str:
    """The session key of a new login."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return str(client.cookies["sessionid"].value)


def client_of(login: str) -> Client:
    """A browser that holds a login."""
    client = Client()
    client.cookies["sessionid"] = login
    return client


def seqs(message: str) -> list[int]:
    """The numbers of the events in a message, in its order."""
    return [int(number) for number in _SEQ.findall(message)]


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Work with the database in a thread, which leaves no connection behind."""

    def whole() -> R:
        try:
            return work(*args, **kwargs)
        finally:
            connection.close()

    return await asyncio.to_thread(whole)
