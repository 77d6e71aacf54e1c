"""The database itself enforces which asks, options and gates are valid."""

from __future__ import annotations

from itertools import product

import pytest

from agents.models import Session
from asks.lifecycle import AskStatus
from asks.models import Ask
from tests.factories import REFUND, AskFactory
from tests.invariants.refusing import copy_row, refused, run_sql
from tests.triggers import triggers_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session, action=REFUND)
    return asked


def put_into(ask: Ask, status: AskStatus) -> None:
    """Set a status while the trigger that guards its transitions is off."""
    with triggers_off("asks_ask"):
        run_sql(
            f"UPDATE asks_ask SET status = %s, {fitting(status)} WHERE id = %s", [status, ask.pk]
        )


def fitting(status: AskStatus) -> str:
    """Return the fields that a status requires, so that only the value under test can be rejected."""
    closed_at = "NULL" if status == AskStatus.OPEN else "now()"
    successor = "id" if status == AskStatus.SUPERSEDED else "NULL"
    return f"closed_at = {closed_at}, superseded_by_id = {successor}"


@pytest.mark.case("X10")
def test_a_request_is_asked_once_in_a_session(ask: Ask) -> None:
    with refused("a_request_is_asked_once"):
        copy_row("asks_ask", ask.pk)


@pytest.mark.parametrize("status", list(AskStatus))
def test_an_ask_has_a_closing_time_exactly_when_it_is_closed(ask: Ask, status: AskStatus) -> None:
    put_into(ask, status)
    wrong = "now()" if status == AskStatus.OPEN else "NULL"
    with refused("open_has_no_closing_time"):
        run_sql(f"UPDATE asks_ask SET closed_at = {wrong} WHERE id = %s", [ask.pk])


def test_a_superseded_ask_names_its_successor(ask: Ask) -> None:
    with refused("superseded_names_its_successor"):
        run_sql(
            "UPDATE asks_ask SET status = 'superseded', closed_at = now() WHERE id = %s", [ask.pk]
        )


def test_an_ask_replaces_one_other_at_most(ask: Ask, session: Session) -> None:
    second = AskFactory(session=session)
    third = AskFactory(session=session)
    run_sql("UPDATE asks_ask SET superseded_by_id = %s WHERE id = %s", [third.pk, ask.pk])
    with refused("superseded_by_id"):
        run_sql("UPDATE asks_ask SET superseded_by_id = %s WHERE id = %s", [third.pk, second.pk])


@pytest.mark.parametrize(("here", "there"), list(product(AskStatus, repeat=2)))
def test_an_open_ask_closes_and_a_closed_one_stays(
    ask: Ask, here: AskStatus, there: AskStatus
) -> None:
    put_into(ask, here)
    move = f"UPDATE asks_ask SET status = %s, {fitting(there)} WHERE id = %s"
    if here in (there, AskStatus.OPEN):
        run_sql(move, [there, ask.pk])
    else:
        with refused("Invalid transition"):
            run_sql(move, [there, ask.pk])


def test_an_options_key_is_its_own(ask: Ask) -> None:
    option = ask.options.earliest("position")
    with refused("option_keys_are_unique"):
        copy_row("asks_option", option.pk, position=9)


def test_options_are_in_one_order(ask: Ask) -> None:
    option = ask.options.earliest("position")
    with refused("options_are_in_order"):
        copy_row("asks_option", option.pk, key="other")


@pytest.mark.parametrize("column", ["key", "label"])
def test_an_option_has_a_name(ask: Ask, column: str) -> None:
    option = ask.options.earliest("position")
    with refused("an_option_has_a_name"):
        copy_row("asks_option", option.pk, **{"key": "other", "position": 9, column: ""})


def test_gates_are_numbered_once(ask: Ask, session: Session) -> None:
    other = AskFactory(session=session)
    with refused("gates_are_numbered"):
        copy_row("asks_gate", ask.gate.pk, ask_id=other.pk)


def test_an_ask_has_one_gate(ask: Ask) -> None:
    with refused("asks_gate_ask_id"):
        copy_row("asks_gate", ask.gate.pk, number=9)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("action_hash", ""),
        ("action_hash", "v1:"),
        ("action_hash", "v1:" + "g" * 64),
        ("action_hash", "f" * 64),
        ("action_hash", "v1:" + "a" * 65),
        ("run_version", ""),
        ("operation", ""),
    ],
)
def test_a_gates_binding_is_complete(ask: Ask, session: Session, column: str, value: str) -> None:
    other = AskFactory(session=session)
    with refused("a_gate_is_bound"):
        copy_row("asks_gate", ask.gate.pk, **{"ask_id": other.pk, "number": 9, column: value})


@pytest.mark.parametrize("column", ["action_hash", "policy_version", "run_version", "params"])
def test_no_part_of_a_binding_is_missing(ask: Ask, session: Session, column: str) -> None:
    other = AskFactory(session=session)
    with refused("null value"):
        copy_row("asks_gate", ask.gate.pk, **{"ask_id": other.pk, "number": 9, column: None})
