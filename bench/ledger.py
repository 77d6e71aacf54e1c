"""Measure the cost of the ledger: answers with and without it, and verifying 100,000 verdicts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.db.models import OuterRef, Subquery
from django.test import override_settings

from agents.models import Agent, Run, Session
from asks.actions import binding
from asks.ledger import chain, record_facts, verify
from asks.lifecycle import AskKind, AskStatus, Meaning
from asks.models import Ask, Gate, LedgerRecord, Option, Verdict
from bench.figures import Figure
from tests.ledger.world import Draft, agent_of, ask_of, decide, home, person

VERDICTS = 100_000
PER_SESSION = 100
START = datetime(2026, 1, 1, tzinfo=UTC)
END = START + timedelta(hours=1)
PARAMS = {"order": 1182, "amount": "420.00", "currency": "EUR", "to": "customer 77"}


def measure(runs: int) -> list[Figure]:
    """Compare answering with and without the ledger in ms; verify 100,000 verdicts in seconds."""
    owner = person("owner")
    # An own state folder: anchors that were signed for other databases are not missing here.
    with tempfile.TemporaryDirectory() as folder, override_settings(STATE_DIR=Path(folder)):
        return [_proving(owner), _answering(owner, max(runs, 7) * 10)]


def _proving(owner: User) -> Figure:
    _fill(owner)
    started = time.perf_counter()
    proved = verify.verify_ledger()
    seconds = time.perf_counter() - started
    note = f"{proved.records} records in {proved.chains} chains"
    return Figure("ledger: prove 100,000 verdicts", [seconds], unit="s", target=60, note=note)


def _answering(owner: User, samples: int) -> Figure:
    """Alternate answers with and without, so that noise affects both."""
    ours: list[float] = []
    yardstick: list[float] = []
    for number in range(samples):
        (ask,) = ask_of(home(agent_of(owner)), owner, Draft(params=PARAMS))
        with _no_ledger() if number % 2 else _ledger():
            started = time.perf_counter()
            decide(ask, owner)
            took = (time.perf_counter() - started) * 1000
        (yardstick if number % 2 else ours).append(took)
    return Figure("ledger: answer with it / without it", ours, yardstick, target=1.5)


@contextmanager
def _ledger() -> Iterator[None]:
    yield


@contextmanager
def _no_ledger() -> Iterator[None]:
    """Answer without writing a record."""
    before = chain.append_verdict
    chain.append_verdict = lambda *_: None  # type: ignore[assignment]
    try:
        yield
    finally:
        chain.append_verdict = before


def _fill(owner: User) -> None:
    """Create asks with options, gates, verdicts and ledger, as the verbs do."""
    agent = agent_of(owner)
    for number in range(VERDICTS // PER_SESSION):
        session = Session.objects.create(agent=agent, title=f"Session {number}")
        run = Run.objects.create(session=session, number=1, status="completed", ended_at=START)
        _fill_session(owner, agent, session, run)


def _fill_session(owner: User, agent: Agent, session: Session, run: Run) -> None:
    asks = Ask.objects.bulk_create(
        _ask(owner, agent, session, run, number) for number in range(PER_SESSION)
    )
    Option.objects.bulk_create(option for ask in asks for option in _options(ask))
    Gate.objects.bulk_create(_gate(ask, number) for number, ask in enumerate(asks))
    opened = Ask.objects.filter(session=session).select_related("gate").order_by("pk")
    verdicts = [_verdict(owner, ask) for ask in opened.prefetch_related("options")]
    Verdict.objects.bulk_create(verdicts)
    answered = Verdict.objects.filter(ask=OuterRef("pk")).values("pk")
    Ask.objects.filter(session=session).update(verdict=Subquery(answered))
    LedgerRecord.objects.bulk_create(_records(session, verdicts))


def _ask(owner: User, agent: Agent, session: Session, run: Run, number: int) -> Ask:
    return Ask(
        session=session,
        run=run,
        agent=agent,
        request_key=f"request-{number}",
        kind=AskKind.APPROVAL,
        prompt=f"May I refund order {number}? The customer says that it never arrived.",
        prompt_html="<p>May I refund it?</p>",
        free_text=False,
        status=AskStatus.ANSWERED,
        opened_at=START,
        closed_at=END,
        closed_by=owner,
    )


def _options(ask: Ask) -> list[Option]:
    return [
        Option(ask=ask, key="yes", label="Approve it", meaning=Meaning.APPROVE, position=0),
        Option(ask=ask, key="no", label="Deny it", meaning=Meaning.DENY, position=1),
    ]


def _gate(ask: Ask, number: int) -> Gate:
    return Gate(
        ask=ask,
        session=ask.session,
        number=number,
        operation="refund",
        params=PARAMS,
        action_hash=binding.action_hash("refund", PARAMS),
        policy_version=0,
        run_version="1.1",
    )


def _verdict(owner: User, ask: Ask) -> Verdict:
    option = ask.options.all()[0]
    return Verdict(
        ask=ask,
        decided_by=owner,
        option=option,
        option_label=option.label,
        meaning=option.meaning,
        echo=binding.shown_binding(ask.gate).as_echo(),
        decided_at=END,
    )


def _records(session: Session, verdicts: list[Verdict]) -> Iterator[LedgerRecord]:
    head = chain.Head(f"session:{session.pk}")
    facts = record_facts.facts_of_all("verdict", [verdict.pk for verdict in verdicts])
    for pk, fact in sorted(facts.items()):
        entry = chain.Entry("verdict", f"verdict:{pk}", "human:owner", fact)
        record = chain.record_after(head, entry, END)
        head = chain.Head(record.chain, record.seq, record.hash)
        yield record
