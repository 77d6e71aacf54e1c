"""The ledger: every decision as one line of a hash chain, written with the decision itself.

A chain per session (``session:12``) and one per kind of workspace object (``workspace:key``,
``workspace:policy``, ``workspace:delegation``), so that answering never waits for a row that all
share. A line is written in the transaction of what it tells, under the session's lock or, for the
workspace's chains, an advisory lock of the chain. What the lines prove: docs/ledger.md.

Kinds: verdict, vote, refusal, withdrawn, expired, superseded, imported; and by other verbs, through
``append_row``: policy_changed, key_created, key_revoked, delegated, delegation_revoked, dropped; through
``append_record``: extended, escalated.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, transaction

from agents import actors
from agents.db import statements
from agents.models import Session
from agents.text.canonical_json import canonical_json, iso_moment
from asks.ledger import device, record_facts
from asks.models import Ask, LedgerRecord, Refusal, Verdict, Vote

if TYPE_CHECKING:
    from asks.answers import Answer

VERSION = 1
#: What the first record of a chain names as the one before it.
GENESIS = "0" * 64

_HEAD = """
SELECT clock_timestamp(), head.seq, head.hash FROM (SELECT 1) AS one LEFT JOIN LATERAL (
  SELECT seq, hash FROM asks_ledgerrecord WHERE chain = %s ORDER BY seq DESC LIMIT 1
) AS head ON true
"""


@dataclass(frozen=True)
class Head:
    """The last record of a chain; of an empty one, seq 0 and ``GENESIS``."""

    chain: str
    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True)
class Entry:
    """What a record is to say."""

    kind: str
    subject: str
    actor: str
    facts: dict[str, Any]


def append_record(
    kind: str,
    *,
    subject: str,
    data: dict[str, Any],
    session: Session | None = None,
    actor: str = "system",
) -> LedgerRecord:
    """Write one record, in the caller's transaction. ``subject`` is like ``key:12``.

    With a session it joins that session's chain, else the chain of its subject's kind. ``actor`` is
    ``human:<name>``, ``agent:<slug>`` or ``system``. Raises TransactionManagementError outside a
    transaction: a record without what it tells must not be.
    """
    chain = f"session:{session.pk}" if session else f"workspace:{subject.partition(':')[0]}"
    return _write(chain, Entry(kind, subject, actor, data))


def append_row(
    kind: str,
    pk: int,
    *,
    names: dict[str, str | None],
    session: Session | None = None,
    actor: str = "system",
) -> LedgerRecord:
    """The same of a row that ``record_facts`` knows how to tell. ``names`` are those of today."""
    data = {**record_facts.facts_of(kind, pk), "names": names}
    subject = f"{record_facts.TOLD[kind].subject}:{pk}"
    return append_record(kind, subject=subject, data=data, session=session, actor=actor)


def append_verdict(ask: Ask, verdict: Verdict, answer: Answer) -> LedgerRecord:
    """Record a verdict, with all that is needed to prove it later."""
    facts = {
        **record_facts.facts_of("verdict", verdict.pk),
        "names": {"agent": ask.agent.slug, "by": answer.by.get_username()},
        "waited_seconds": int((verdict.decided_at - ask.opened_at).total_seconds()),
        "device": device.current_device(),
        "proof": answer.proof.facts() if answer.proof else None,
    }
    entry = Entry("verdict", f"verdict:{verdict.pk}", _human(answer.by), facts)
    return _follow(f"session:{ask.session_id}", entry)  # whoever answers holds the session's lock


def append_vote(vote: Vote, answer: Answer) -> LedgerRecord:
    """Record one of several votes."""
    facts = {
        **record_facts.facts_of("vote", vote.pk),
        "names": {"by": answer.by.get_username()},
        "device": device.current_device(),
        "proof": answer.proof.facts() if answer.proof else None,
    }
    entry = Entry("vote", f"vote:{vote.pk}", _human(answer.by), facts)
    return _write(f"session:{vote.ask.session_id}", entry)


def append_refusal(refusal: Refusal, *, actor: str = "") -> LedgerRecord:
    """Record an answer that was turned down, in its ask's chain if the ask exists."""
    facts = {**record_facts.facts_of("refusal", refusal.pk), "device": device.current_device()}
    chain = f"session:{refusal.ask.session_id}" if refusal.ask else "workspace:refusal"
    who = actor or (_human(refusal.by) if refusal.by else "unknown")
    return _write(chain, Entry("refusal", f"refusal:{refusal.pk}", who, facts))


def append_closing(ask: Ask) -> LedgerRecord:
    """Record an ask that was closed without an answer: withdrawn, expired or superseded."""
    who = _human(ask.closed_by) if ask.closed_by else "system"
    facts = {**record_facts.facts_of(ask.status, ask.pk), "names": {"agent": ask.agent.slug}}
    entry = Entry(ask.status, f"ask:{ask.pk}", who, facts)
    return _follow(f"session:{ask.session_id}", entry)  # nor does anybody close without it


def append_import(ask: Ask, *, by: AbstractBaseUser, source: dict[str, Any]) -> LedgerRecord:
    """Record what a person took over from a file: an open ask, or one that is history."""
    facts = {
        **record_facts.facts_of("imported", ask.pk),
        "names": {"agent": ask.agent.slug, "by": by.get_username()},
        "source": source,
    }
    return _write(
        f"session:{ask.session_id}", Entry("imported", f"ask:{ask.pk}", _human(by), facts)
    )


def record_after(head: Head, entry: Entry, at: datetime) -> LedgerRecord:
    """The record that follows a head, not saved."""
    body = {
        "v": VERSION,
        "chain": head.chain,
        "seq": head.seq + 1,
        "prev": head.hash,
        "kind": entry.kind,
        "subject": entry.subject,
        "actor": entry.actor[:200],
        "at": iso_moment(at),
        "facts": entry.facts,
    }
    text = canonical_json(body)
    return LedgerRecord(
        hash=hashlib.sha256(text).hexdigest(),
        chain=head.chain,
        seq=head.seq + 1,
        kind=entry.kind,
        subject=entry.subject,
        actor=entry.actor[:200],
        at=at,
        body=text.decode(),
    )


def _write(chain: str, entry: Entry) -> LedgerRecord:
    _lock(chain)
    return _follow(chain, entry)


def _follow(chain: str, entry: Entry) -> LedgerRecord:
    """Write the next record of a chain that is locked."""
    ((at, seq, last),) = statements.query(_HEAD, chain)
    record = record_after(Head(chain, seq or 0, last or GENESIS), entry, at)
    statements.insert(record)
    return record


def _lock(chain: str) -> None:
    """The session's row, which the caller holds already in most cases, or the chain's own lock."""
    kind, _, number = chain.partition(":")
    if kind == "session":
        Session.objects.select_for_update().only("pk").get(pk=int(number))
        return
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("A ledger record needs a transaction.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"ledger:{chain}"])


def _human(person: AbstractBaseUser) -> str:
    return actors.human(person)
