"""Send hints that something has changed. They carry only ids, and a lost hint does no harm.

A hint is a PostgreSQL NOTIFY on the channel ``needs_you`` with one of these payloads:

    s:<session id>:<seq>    the session has events up to seq
    q:<user id>             the person's queue has changed
    x:<digest>              the login whose session key has this digest has ended
    r:<user id>             the person's rights, or how they sign in, may have changed
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import LiteralString

from django.db import connection, transaction

from agents.db import statements

CHANNEL = "needs_you"
#: A NOTIFY inside a writing transaction serialises commits, so hints are sent after the commit, in
#: one statement that does not wait for the disk.
_SEND: LiteralString = """
SELECT set_config('synchronous_commit', 'off', true), count(pg_notify(%s, payload)) FROM (
    SELECT payload FROM unnest(%s::text[]) payload
    {people}
) hint
"""
_PEOPLE: LiteralString = "UNION SELECT 'q:' || user_id FROM ({source}) AS found (user_id)"
#: A statement that selects the ids of people, given an array of ids of what concerns them.
Source = LiteralString
OWNERS: Source = "SELECT user_id FROM agents_agent_owners WHERE agent_id = ANY(%s::bigint[])"


class _Hints:
    """The hints of one transaction: one per subject, sent together after the commit."""

    def __init__(self) -> None:
        self.payloads: dict[str, str] = {}
        self.concerned: dict[Source, set[int]] = {}

    def __call__(self) -> None:
        people = " ".join([_PEOPLE.format(source=source) for source in self.concerned])
        ids = [sorted(keys) for keys in self.concerned.values()]
        statement = _SEND.format(people=people)
        statements.query(statement, CHANNEL, list(self.payloads.values()), *ids)


def notify_session_changed(session_id: int, seq: int) -> None:
    """Notify the session's watchers after this transaction commits."""
    with _after_commit() as hints:
        hints.payloads[f"s:{session_id}"] = f"s:{session_id}:{seq}"


def notify_queue_changed(user_id: int) -> None:
    """Notify a person's pages after this transaction commits that their queue has changed."""
    _send(f"q:{user_id}")


def notify_owners_changed(agent_id: int) -> None:
    """Notify the pages of an agent's owners. The owners are looked up after the commit."""
    concern(OWNERS, agent_id)


def concern(source: Source, key: int) -> None:
    """Notify the pages of the people that a statement finds by a key, after the commit."""
    with _after_commit() as hints:
        hints.concerned.setdefault(source, set()).add(key)


def notify_rights_changed(user_id: int) -> None:
    """Make every process check at once whether a person's sockets may stay open."""
    _send(f"r:{user_id}")


def notify_login_ended(session_key: str) -> None:
    """Make every process close the sockets of a login."""
    _send(f"x:{login_digest(session_key)}")


def login_digest(session_key: str) -> str:
    """Return the digest that replaces a login's session key in hints."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]


def _send(payload: str) -> None:
    with _after_commit() as hints:
        hints.payloads[payload] = payload


@contextmanager
def _after_commit() -> Iterator[_Hints]:
    """Yield the hints of the current transaction. Without a transaction, send them on leaving."""
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
