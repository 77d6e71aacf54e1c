"""Hints that something is new. They carry ids only and may be lost without harm.

PostgreSQL's NOTIFY on channel ``needs_you`` with one of these payloads:

    s:<session id>:<seq>    the session has events up to seq
    q:<user id>             what waits on this person has changed
    x:<digest>              the login whose session key has this digest has ended
    r:<user id>             what this person may see may have changed, or how they sign in
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from django.db import connection, transaction

from agents.db import statements

CHANNEL = "needs_you"
#: NOTIFY inside a busy writing transaction serialises commits, so hints leave after it, in one
#: statement that does not wait for the disk.
_SEND: LiteralString = """
SELECT set_config('synchronous_commit', 'off', true), count(pg_notify(%s, payload)) FROM (
    SELECT payload FROM unnest(%s::text[]) payload
    {people}
) hint
"""
_PEOPLE: LiteralString = "UNION SELECT 'q:' || user_id FROM ({source}) AS found (user_id)"
#: The ids of people, of the ids of what concerns them.
Source = LiteralString
OWNERS: Source = "SELECT user_id FROM agents_agent_owners WHERE agent_id = ANY(%s::bigint[])"


class _Hints:
    """The hints of one transaction, one per subject, sent together after its commit."""

    def __init__(self) -> None:
        self.payloads: dict[str, str] = {}
        self.concerned: dict[Source, set[int]] = {}

    def __call__(self) -> None:
        people = " ".join([_PEOPLE.format(source=source) for source in self.concerned])
        ids = [sorted(keys) for keys in self.concerned.values()]
        statement = _SEND.format(people=people)
        statements.query(statement, CHANNEL, list(self.payloads.values()), *ids)


def notify_session_changed(session_id: int, seq: int) -> None:
    """Tell watchers of the session, once this transaction has committed."""
    with _after_commit() as hints:
        hints.payloads[f"s:{session_id}"] = f"s:{session_id}:{seq}"


def notify_queue_changed(user_id: int) -> None:
    """Tell a person's pages that their queue changed, once this transaction has committed."""
    _send(f"q:{user_id}")


def notify_owners_changed(agent_id: int) -> None:
    """Tell the pages of everybody who owns an agent; who that is, is looked up after the commit."""
    concern(OWNERS, agent_id)


def concern(source: Source, key: int) -> None:
    """The same for whoever a statement finds by the id of what concerns them."""
    with _after_commit() as hints:
        hints.concerned.setdefault(source, set()).add(key)


def notify_rights_changed(user_id: int) -> None:
    """Tell every process to look at once whether a person's sockets may stay open."""
    _send(f"r:{user_id}")


def notify_login_ended(session_key: str) -> None:
    """Tell every process to close the sockets of a login."""
    _send(f"x:{login_digest(session_key)}")


def login_digest(session_key: str) -> str:
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def _send(payload: str) -> None:
    with _after_commit() as hints:
        hints.payloads[payload] = payload


@contextmanager
def _after_commit() -> Iterator[_Hints]:
    """The hints of the present transaction, to be added to; sent at once if there is none."""
    if not connection.in_atomic_block:
        hints = _Hints()
        yield hints
        hints()
        return
    waiting = (entry[1] for entry in connection.run_on_commit)
    known = next((hints for hints in waiting if isinstance(hints, _Hints)), None)
    if known is None:
        known = _Hints()
        transaction.on_commit(known, robust=True)
    yield known
