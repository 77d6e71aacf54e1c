"""Chains stay whole when many write at once, and a proof is not disturbed by answers meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, OperationalError, connection, transaction

from asks import answering
from asks.ledger import anchors, chain, verify
from asks.models import Anchor, LedgerRecord
from tests.ledger.world import Draft, agent_of, ask_of, decide, echo_of, home, person

pytestmark = pytest.mark.usefixtures("database")


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """Run every job in a thread with a connection of its own, all let go at the same moment."""
    gate = threading.Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        gate.wait()
        try:
            return job()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result() for future in [pool.submit(run, job) for job in jobs]]


def test_answers_of_one_session_make_one_chain() -> None:
    owner = person()
    asks = ask_of(home(agent_of(owner)), owner, *(Draft() for _ in range(6)))
    at_once(*(lambda ask=ask: decide(ask, owner) for ask in asks))
    seqs = LedgerRecord.objects.order_by("seq").values_list("seq", flat=True)
    assert list(seqs) == [1, 2, 3, 4, 5, 6]
    verify.verify_ledger()


def test_refusals_of_what_does_not_exist_make_one_chain() -> None:
    somebody = person()
    at_once(
        *(lambda: answering.answer_ask(ask_id=10**9, by=somebody, option="yes") for _ in range(6))
    )
    seqs = LedgerRecord.objects.filter(chain="workspace:refusal").order_by("seq")
    assert list(seqs.values_list("seq", flat=True)) == [1, 2, 3, 4, 5, 6]
    verify.verify_ledger()


def test_sessions_do_not_wait_for_each_other() -> None:
    """While one session's chain is held, another is answered at once."""
    owner = person()
    (held,) = ask_of(home(agent_of(owner)), owner)
    (free,) = ask_of(home(agent_of(owner)), owner)
    with transaction.atomic():
        chain.append_record("noted", subject="note:1", data={}, session=held.session)
        at_once(lambda: _impatiently(lambda: decide(free, owner)))
        with pytest.raises(OperationalError, match="lock timeout"):
            at_once(lambda: _impatiently(lambda: decide(held, owner)))
    decide(held, owner)
    verify.verify_ledger()


def _impatiently(job: Callable[[], Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")
    return job()


def test_a_proof_sees_one_moment() -> None:
    """People answer and are refused all the while; nothing of it looks broken, nothing is skipped."""
    owner = person()
    done = threading.Event()
    writing = threading.Thread(target=_keep_answering, args=(owner, done))
    writing.start()
    try:
        counts = [verify.verify_ledger().records for _ in range(8)]
    finally:
        done.set()
        writing.join()
    assert counts == sorted(counts)
    assert verify.verify_ledger().records == LedgerRecord.objects.count() > 0


def _keep_answering(owner: User, done: threading.Event) -> None:
    session = home(agent_of(owner))
    while not done.is_set():
        for ask in ask_of(session, owner, Draft(), Draft()):
            answering.answer_ask(ask_id=ask.pk, by=owner, option="maybe", echo=echo_of(ask))
            decide(ask, owner)
        anchors.write_anchor()
    connection.close()


def test_an_anchor_that_is_made_while_anchors_are_read_is_not_missed(state: Path) -> None:
    """It is noted in the state folder already, and not in what the proof sees of the database."""
    owner = person()
    (ask,) = ask_of(home(agent_of(owner)), owner)
    decide(ask, owner)
    made: list[Anchor | None] = []

    def anchor_meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if 'FROM "asks_anchor"' in sql and not made:
            made.extend(at_once(anchors.write_anchor))
        return result

    with connection.execute_wrapper(anchor_meanwhile):
        assert verify.verify_ledger().anchors == 0
    assert anchors.noted_heads() == {anchor.number: anchor.hash for anchor in made if anchor}
    assert (state / anchors.LOG).exists()
    assert verify.verify_ledger().anchors == 1


def test_workers_that_anchor_at_once_make_one_anchor() -> None:
    owner = person()
    (ask,) = ask_of(home(agent_of(owner)), owner)
    decide(ask, owner)
    made = at_once(*(anchors.write_anchor for _ in range(4)))
    assert sum(anchor is not None for anchor in made) == Anchor.objects.count() == 1
    assert verify.verify_ledger().anchors == 1


def test_a_record_cannot_be_without_what_it_tells() -> None:
    with pytest.raises(transaction.TransactionManagementError):
        chain.append_record("noted", subject="note:1", data={})
    owner = person()
    (ask,) = ask_of(home(agent_of(owner)), owner)
    with transaction.atomic():
        decide(ask, owner)
        transaction.set_rollback(True)
    assert LedgerRecord.objects.count() == 0
    decide(ask, owner)
    assert LedgerRecord.objects.get().seq == 1


def test_the_database_refuses_what_the_owner_of_the_tables_has_not_switched_off() -> None:
    owner = person()
    (ask,) = ask_of(home(agent_of(owner)), owner)
    decide(ask, owner)
    anchors.write_anchor()
    for table in ("asks_ledgerrecord", "asks_anchor"):
        for statement in ("UPDATE {} SET body = ''", "DELETE FROM {}", "TRUNCATE {} CASCADE"):
            with pytest.raises(DatabaseError, match="pgtrigger"):
                _execute(statement.format(table))


@transaction.atomic
def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
