"""The database itself enforces which verdicts are valid, and which rows never change."""

from __future__ import annotations

import pgtrigger
import pytest
from django.contrib.auth.models import User

from agents.models import Event, Session
from asks.answering import answer_ask
from asks.models import Ask, Gate, LedgerRecord, Option, Refusal, Verdict
from tests.factories import REFUND, AskFactory, VerdictFactory
from tests.invariants.refusing import refused, run_sql

pytestmark = pytest.mark.django_db

NEVER_CHANGE = [Event, Verdict, Refusal, LedgerRecord, Option, Gate]
#: One column of each table that a forger would want to change.
FORGED = {
    Event: "text = 'Nothing happened.'",
    Verdict: "meaning = 'deny'",
    Refusal: "reason = 'empty'",
    LedgerRecord: "body = '{}'",
    Option: "label = 'Something else'",
    Gate: "params = '{}'",
}


@pytest.fixture
def verdict(session: Session, stranger: User) -> Verdict:
    """Create a verdict on a bound ask, and a refusal: a row in every table that never changes."""
    ask = AskFactory(session=session, action=REFUND)
    answer_ask(ask_id=ask.pk, by=stranger, option="approve")
    given: Verdict = VerdictFactory(ask=ask)
    return given


@pytest.fixture
def open_ask(verdict: Verdict, session: Session) -> Ask:
    asked: Ask = AskFactory(session=session)
    return asked


INSERT = """
INSERT INTO asks_verdict (ask_id, decided_by_id, option_id, option_label, text, meaning, via)
VALUES (%s, %s, %s, '', %s, 'answer', 'page')
"""


def decide(ask: Ask, by: User | None, option: Option | None = None, text: str = "") -> None:
    run_sql(INSERT, [ask.pk, by and by.pk, option and option.pk, text])


def test_an_ask_has_one_verdict(verdict: Verdict, colleague: User) -> None:
    with refused("asks_verdict_ask_id"):
        decide(verdict.ask, colleague, text="No, this one.")


def test_nobody_is_not_a_person_who_decides(open_ask: Ask) -> None:
    with refused("decided_by_id"):
        decide(open_ask, None, text="Approved by nobody.")


def test_a_person_who_decided_is_not_deleted(verdict: Verdict) -> None:
    with refused("violates foreign key"):
        run_sql("DELETE FROM auth_user WHERE id = %s", [verdict.decided_by_id])


def test_a_verdict_names_an_option_of_its_own_ask(
    open_ask: Ask, verdict: Verdict, owner: User
) -> None:
    of_another = verdict.ask.options.earliest("position")
    with refused("verdicts_name_an_option_of_their_ask"):
        decide(open_ask, owner, of_another)
    decide(open_ask, owner, open_ask.options.earliest("position"))


BLANKS = [
    "",
    " ",
    "\t\r\n",
    "\u00a0",
    "\u200b",
    "\u200b\u200d\ufeff",
    "\u3000\u2003",
    "\u202e",
    "\x1f",
]


@pytest.mark.parametrize("text", BLANKS)
def test_words_that_nobody_sees_are_no_verdict(open_ask: Ask, owner: User, text: str) -> None:
    with refused("a_verdict_says_something"):
        decide(open_ask, owner, text=text)


@pytest.mark.parametrize("text", ["no", " . ", "é", "新", "👍", "\u200bx"])
def test_words_that_somebody_sees_are_one(open_ask: Ask, owner: User, text: str) -> None:
    decide(open_ask, owner, text=text)


@pytest.mark.parametrize("model", NEVER_CHANGE)
@pytest.mark.usefixtures("verdict")
def test_what_was_said_is_not_changed(model: type[Event]) -> None:
    with refused("Cannot update or delete rows"):
        run_sql(f"UPDATE {model._meta.db_table} SET {FORGED[model]}")


@pytest.mark.parametrize("model", NEVER_CHANGE)
@pytest.mark.usefixtures("verdict")
def test_what_was_said_is_not_deleted(model: type[Event]) -> None:
    with refused("Cannot update or delete rows"):
        run_sql(f"DELETE FROM {model._meta.db_table}")


@pytest.mark.parametrize("model", NEVER_CHANGE)
@pytest.mark.usefixtures("verdict")
def test_what_was_said_is_not_truncated(model: type[Event]) -> None:
    with refused("Cannot truncate rows"):
        run_sql(f"TRUNCATE {model._meta.db_table} CASCADE")


@pytest.mark.parametrize("table", ["asks_ask", "agents_run", "agents_session", "agents_agent"])
@pytest.mark.usefixtures("verdict")
def test_nor_is_what_it_hangs_on(table: str) -> None:
    with refused("Cannot truncate rows"):
        run_sql(f"TRUNCATE {table} CASCADE")


def test_only_who_says_so_may_clear_the_tables_of_a_test(verdict: Verdict) -> None:
    run_sql("SET CONSTRAINTS ALL IMMEDIATE")
    with pgtrigger.ignore():
        run_sql("TRUNCATE asks_verdict CASCADE")
    assert not Verdict.objects.filter(pk=verdict.pk).exists()
