"""Append every decision to a hash chain, in the transaction of the decision itself.

Each session has a chain (``session:12``), and so has each kind of workspace object
(``workspace:key``, ``workspace:policy``, ``workspace:delegation``). Answers in different sessions
therefore never wait for each other. A session's chain is written under the session's lock, a
workspace chain under an advisory lock of its own. docs/ledger.md explains what the records prove.

This module writes the kinds verdict, vote, refusal, withdrawn, expired, superseded and imported.
Other modules write retracted, policy_changed, key_created, key_revoked, delegated,
delegation_revoked and dropped through ``append_row``, and extended, escalated and
agent_changed through ``append_record``.
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
#: The ``prev`` of the first record of a chain.
GENESIS = "0" * 64

_HEAD = """
SELECT clock_timestamp(), head.seq, head.hash FROM (SELECT 1) AS one LEFT JOIN LATERAL (
  SELECT seq, hash FROM asks_ledgerrecord WHERE chain = %s ORDER BY seq DESC LIMIT 1
) AS head ON true
"""


@dataclass(frozen=True)
class Head:
    """The last record of a chain. An empty chain has seq 0 and ``GENESIS``."""

    chain: str
    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True)
class Entry:
    """The content of a record that is about to be written."""

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
    """Append one record in the caller's transaction.

    ``subject`` has the form ``key:12``. The record joins the chain of ``session`` if there is one,
    otherwise the chain of the subject's kind. ``actor`` is ``human:<name>``, ``agent:<slug>`` or
    ``system``. Raises TransactionManagementError outside a transaction, because a record must not
    be stored without the change that it describes.
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
    """Append a record about a row whose kind is in ``record_facts.FACT_SOURCES``.

    ``names`` are the current names of the people and agents that the row refers to.
    """
    data = {**record_facts.facts_of(kind, pk), "names": names}
    subject = f"{record_facts.FACT_SOURCES[kind].subject}:{pk}"
    return append_record(kind, subject=subject, data=data, session=session, actor=actor)


def append_verdict(ask: Ask, verdict: Verdict, answer: Answer) -> LedgerRecord:
    """Append a verdict, with everything that a later proof needs."""
    facts = {
        **record_facts.facts_of("verdict", verdict.pk),
        "names": {"agent": ask.agent.slug, "by": answer.by.get_username()},
        "waited_seconds": int((verdict.decided_at - ask.opened_at).total_seconds()),
        "device": device.current_device(),
        "proof": answer.proof.facts() if answer.proof else None,
    }
    entry = Entry("verdict", f"verdict:{verdict.pk}", _human(answer.by), facts)
    return _follow(f"session:{ask.session_id}", entry)  # the caller holds the session's lock


def append_vote(vote: Vote, answer: Answer) -> LedgerRecord:
    """Append one vote on an ask that several people decide."""
    facts = {
        **record_facts.facts_of("vote", vote.pk),
        "names": {"by": answer.by.get_username()},
        "device": device.current_device(),
        "proof": answer.proof.facts() if answer.proof else None,
    }
    entry = Entry("vote", f"vote:{vote.pk}", _human(answer.by), facts)
    return _write(f"session:{vote.ask.session_id}", entry)


def append_refusal(refusal: Refusal, *, actor: str = "") -> LedgerRecord:
    """Append a refused answer, to the chain of the ask's session if the ask exists."""
    facts = {**record_facts.facts_of("refusal", refusal.pk), "device": device.current_device()}
    chain = f"session:{refusal.ask.session_id}" if refusal.ask else "workspace:refusal"
    who = actor or (_human(refusal.by) if refusal.by else "unknown")
    return _write(chain, Entry("refusal", f"refusal:{refusal.pk}", who, facts))


def append_closing(ask: Ask) -> LedgerRecord:
    """Append an ask that closed without an answer: withdrawn, expired or superseded."""
    who = _human(ask.closed_by) if ask.closed_by else "system"
    facts = {**record_facts.facts_of(ask.status, ask.pk), "names": {"agent": ask.agent.slug}}
    entry = Entry(ask.status, f"ask:{ask.pk}", who, facts)
    return _follow(f"session:{ask.session_id}", entry)  # the caller holds the session's lock


def append_import(ask: Ask, *, by: AbstractBaseUser, source: dict[str, Any]) -> LedgerRecord:
    """Append an ask that a person imported from a file: an open one, or a decided one."""
    facts = {
        **record_facts.facts_of("imported", ask.pk),
        "names": {"agent": ask.agent.slug, "by": by.get_username()},
        "source": source,
    }
    return _write(
        f"session:{ask.session_id}", Entry("imported", f"ask:{ask.pk}", _human(by), facts)
    )


def record_after(head: Head, entry: Entry, at: datetime) -> LedgerRecord:
    """Return the unsaved record that follows ``head``."""
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
    """Append the next record to a chain that the caller has locked."""
    ((at, seq, last),) = statements.query(_HEAD, chain)
    record = record_after(Head(chain, seq or 0, last or GENESIS), entry, at)
    statements.insert(record)
    return record


def _lock(chain: str) -> None:
    """Lock the session's row (most callers hold it already) or the workspace chain."""
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
