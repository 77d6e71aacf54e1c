"""Whatever the owner of the tables changes, with every trigger off, is found and named."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Session
from asks import answering, withdrawing
from asks.deadlines import expiry
from asks.ledger import verify
from asks.ledger.chain import Entry, Head, record_after
from asks.models import Ask, Gate, LedgerRecord, Option, Refusal, Verdict
from tests.ledger.tampering import execute, found_broken, other, overwrite, undone, where
from tests.ledger.world import Draft, agent_of, ask_of, decide, echo_of, home, person

pytestmark = pytest.mark.django_db
examples = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
places = st.integers(0, 5000)
amounts = st.integers(1, 200)

#: What the ledger's facts are taken from: a change of any of these columns must be found.
TOLD: list[tuple[type[models.Model], tuple[str, ...]]] = [
    (Verdict, ("ask_id", "decided_by_id", "option_id", "option_label", "text", "meaning")),
    (Verdict, ("echo", "via", "decided_at")),
    (Refusal, ("ask_id", "ask_ref", "by_id", "reason", "detail", "submitted", "via", "created_at")),
    (Ask, ("prompt", "request_key", "kind", "context", "opened_at", "free_text", "closed_at")),
    (Ask, ("money_critical", "close_reason")),
    (Option, ("key", "label", "detail", "style", "meaning")),
    (Gate, ("operation", "params", "action_hash", "policy_version", "run_version", "number")),
]


@pytest.fixture
def owner() -> User:
    return person("olga")


@pytest.fixture
def session(owner: User) -> Session:
    """Verdicts, refusals, a withdrawal and a supersession in two sessions."""
    for session in (home(agent_of(owner)), home(agent_of(owner, person("carl")))):
        asks = ask_of(session, owner, Draft(), Draft(bound=False), Draft(prompt="Which?"), Draft())
        for ask in asks[:2]:
            answering.answer_ask(ask_id=ask.pk, by=owner, option="never offered", echo=echo_of(ask))
            decide(ask, owner, "no", "Ünusual — words")
        withdrawing.withdraw_ask(ask_id=asks[2].pk, by=owner, reason="No need")
        stale = {**(echo_of(asks[3]) or {}), "policy_version": 99}
        answering.answer_ask(ask_id=asks[3].pk, by=owner, option="yes", echo=stale)
    answering.answer_ask(ask_id=10**9, by=owner, option="yes")
    verify.verify_ledger()
    return session


@pytest.mark.usefixtures("session")
def test_a_changed_byte_of_any_record_is_found_and_named() -> None:
    records = list(LedgerRecord.objects.order_by("chain", "seq"))
    assert len(records) >= 13
    columns = [field.attname for field in LedgerRecord._meta.fields]

    @examples
    @given(st.sampled_from(records), st.sampled_from(columns), places, amounts)
    def tamper(record: LedgerRecord, column: str, place: int, by: int) -> None:
        with undone():
            overwrite(record, column, other(getattr(record, column), place, by))
            with found_broken() as found:
                verify.verify_ledger()
            if column not in ("chain", "seq"):
                assert found.value.where == where(record)

    tamper()
    verify.verify_ledger()


@pytest.mark.usefixtures("session")
def test_a_change_of_any_row_it_tells_of_is_found() -> None:
    rows: list[tuple[models.Model, str]] = [
        (row, column) for table, columns in TOLD for row in _told(table) for column in columns
    ]

    @examples
    @given(st.sampled_from(rows), places, amounts)
    def tamper(chosen: tuple[models.Model, str], place: int, by: int) -> None:
        row, column = chosen
        with undone():
            overwrite(row, column, _another(row, column, place, by))
            with found_broken():
                verify.verify_ledger()

    tamper()
    verify.verify_ledger()


def _told(table: type[models.Model]) -> models.QuerySet[Any]:
    """The rows that a record tells of: an open ask may still change."""
    closed = Ask.objects.exclude(status="open")
    if table is Ask:
        return closed
    return table._default_manager.filter(ask__in=closed)


def _another(row: models.Model, column: str, place: int, by: int) -> Any:
    """Another value; for a reference, another row that exists, or none."""
    if column == "option_id":
        taken = Option.objects.exclude(pk=getattr(row, column))
        return taken.filter(ask=getattr(row, "ask", None)).values_list("pk", flat=True)[0]
    if column == "ask_id":
        free = Ask.objects.exclude(pk=getattr(row, column)).filter(verdict=None, gate=None)
        return free.values_list("pk", flat=True).first() or 0
    if column in ("by_id", "decided_by_id"):
        return User.objects.exclude(pk=getattr(row, column)).values_list("pk", flat=True)[0]
    return other(getattr(row, column), place, by)


def test_a_deleted_tail_is_missed(session: Session) -> None:
    last = LedgerRecord.objects.filter(chain=f"session:{session.pk}").order_by("-seq")[0]
    execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", last.pk)
    with found_broken() as found:
        verify.verify_ledger()
    assert "no record" in str(found.value)


def test_a_record_deleted_in_the_middle_is_named(session: Session) -> None:
    gone = LedgerRecord.objects.get(chain=f"session:{session.pk}", seq=2)
    execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", gone.pk)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"session:{session.pk} 3"


def test_two_records_in_each_others_place_are_found(session: Session) -> None:
    chain = f"session:{session.pk}"
    _renumber(chain, {1: 9_001, 2: 1, 9_001: 2})
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"{chain} 1"


def _renumber(chain: str, moves: dict[int, int]) -> None:
    for seq, to in moves.items():
        execute(
            LedgerRecord,
            "UPDATE {table} SET seq = %s WHERE chain = %s AND seq = %s",
            to,
            chain,
            seq,
        )


def test_swapped_chains_are_found(session: Session) -> None:
    del session
    chains = LedgerRecord.objects.order_by().values_list("chain", flat=True).distinct()
    first, second = sorted(chain for chain in chains if chain.startswith("session:"))
    for chain, to in ((first, "aside"), (second, first), ("aside", second)):
        execute(LedgerRecord, "UPDATE {table} SET chain = %s WHERE chain = %s", to, chain)
    with found_broken():
        verify.verify_ledger()


def test_an_inserted_record_is_found(session: Session) -> None:
    """Well hashed and well linked, it tells of a verdict that is not there."""
    last = LedgerRecord.objects.filter(chain=f"session:{session.pk}").order_by("-seq")[0]
    forged = record_after(
        Head(last.chain, last.seq, last.hash),
        Entry("verdict", "verdict:999999", "human:olga", {"verdict": {"id": 999999}}),
        last.at,
    )
    forged.save(force_insert=True)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == where(forged)


def test_a_record_that_was_written_anew_in_the_middle_breaks_the_link_after_it(
    session: Session,
) -> None:
    """It is well hashed and agrees with its rows: only the record after it remembers another."""
    old = LedgerRecord.objects.get(chain=f"session:{session.pk}", seq=2)
    _replace(old, Head(old.chain, 1, json.loads(old.body)["prev"]))
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"{old.chain} 3"


def test_a_number_that_is_left_out_is_found_though_the_hashes_agree(session: Session) -> None:
    last = LedgerRecord.objects.filter(chain=f"session:{session.pk}").order_by("-seq")[0]
    _replace(last, Head(last.chain, last.seq, json.loads(last.body)["prev"]))
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"{last.chain} {last.seq + 1}"


def _replace(old: LedgerRecord, head: Head) -> None:
    """Another record in the place of an old one, after this head, with one thing told otherwise."""
    facts = json.loads(old.body)["facts"] | {"device": "phone"}
    new = record_after(head, Entry(old.kind, old.subject, old.actor, facts), old.at)
    execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", old.pk)
    new.save(force_insert=True)


def test_a_verdict_written_past_the_ledger_is_found(owner: User) -> None:
    (ask,) = ask_of(home(agent_of(owner)), owner)
    Verdict.objects.create(ask=ask, decided_by=owner, option=ask.options.get(key="yes"))
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"verdict {Verdict.objects.get().pk}"


def test_a_deleted_verdict_is_found_with_its_record_gone_too(owner: User) -> None:
    (ask,) = ask_of(home(agent_of(owner)), owner)
    verdict = decide(ask, owner)
    execute(LedgerRecord, "DELETE FROM {table} WHERE subject = %s", f"verdict:{verdict.pk}")
    execute(Verdict, "DELETE FROM {table} WHERE id = %s", verdict.pk)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"answered ask {ask.pk}"


def test_an_expiry_is_recorded_and_cannot_turn_into_a_withdrawal(owner: User) -> None:
    (ask,) = ask_of(home(agent_of(owner)), owner, Draft(expires_in=timedelta(hours=1)))
    Ask.objects.filter(pk=ask.pk).update(expires_at=ask.opened_at)
    assert expiry.expire_due_asks() == 1
    verify.verify_ledger()
    overwrite(Ask.objects.get(pk=ask.pk), "status", "withdrawn")
    with found_broken() as found:
        verify.verify_ledger()
    assert "closing.status" in str(found.value)
