"""How many statements the verbs of an ask take: pinned, and the same however much there is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import Agent
from agents.registration import open_session
from asks.answering import answer_ask
from asks.models import Ask
from asks.withdrawing import withdraw_ask
from tests.factories import REFUND, ask, draft, echo_of

pytestmark = pytest.mark.django_db

ANSWERING, ANSWERING_ONE_OF_MANY = 18, 17
ANSWERING_AN_APPROVAL = 21
REFUSING = 13
WITHDRAWING = 16


def statements(verb: Callable[[], object]) -> int:
    """How many statements a verb sends, not counting where transactions begin and end."""
    with CaptureQueriesContext(connection) as sent:
        verb()
    return sum("SAVEPOINT" not in query["sql"] for query in sent)


def asked(agent: Agent, count: int = 1, *, bound: bool = False) -> Ask:
    """An open ask, with some others of its run and a few dozen events beside it."""
    session = open_session(agent)
    drafts = [draft(action=REFUND if bound else None) for _ in range(count)]
    return ask(session, *drafts)[0]


def test_answering(agent: Agent, owner: User) -> None:
    ask_id = asked(agent).pk
    assert statements(partial(answer_ask, ask_id=ask_id, by=owner, option="eu")) <= ANSWERING


@pytest.mark.parametrize("count", [2, 9])
def test_answering_one_of_many(agent: Agent, owner: User, count: int) -> None:
    ask_id = asked(agent, count).pk
    sent = statements(partial(answer_ask, ask_id=ask_id, by=owner, option="eu"))
    assert sent <= ANSWERING_ONE_OF_MANY


@pytest.mark.parametrize("before", [0, 3])
def test_answering_an_approval(agent: Agent, owner: User, before: int) -> None:
    for _ in range(before):
        asked(agent, bound=True)
    one = asked(agent, bound=True)
    verb = partial(answer_ask, ask_id=one.pk, by=owner, option="approve", echo=echo_of(one))
    assert statements(verb) <= ANSWERING_AN_APPROVAL


def test_answering_does_not_take_more_for_more_owners(
    agent: Agent, owner: User, stranger: User
) -> None:
    agent.owners.add(stranger)
    ask_id = asked(agent).pk
    assert statements(partial(answer_ask, ask_id=ask_id, by=owner, option="eu")) <= ANSWERING


def test_refusing(agent: Agent, owner: User) -> None:
    ask_id = asked(agent).pk
    assert statements(partial(answer_ask, ask_id=ask_id, by=owner, option="never")) <= REFUSING


def test_withdrawing(agent: Agent, owner: User) -> None:
    assert statements(partial(withdraw_ask, ask_id=asked(agent).pk, by=owner)) <= WITHDRAWING
