"""Whatever a person or a program sends, an answer is recorded or refused; nothing breaks."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.models import Session
from asks.answering import Answered, answer_ask
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Refusal
from asks.refusals import Refused
from tests.factories import REFUND, AskFactory, echo_of

pytestmark = pytest.mark.django_db

HUGE = "x" * 2_000_000


@pytest.fixture
def question(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session, free_text=True)
    return asked


NO_IDS: list[object] = [
    *(0, -1, 2**63 - 1, 2**63, 10**30, 10**5000, -(10**30)),
    *("", "x", "1 ", "+1", "\u0661", "1" * 19, "1" * 5000, "\0", "\ud800"),
    *(None, True, 1.5, [1], {"id": 1}, object()),
]


@pytest.mark.parametrize("ask_id", NO_IDS, ids=range(len(NO_IDS)))
def test_an_id_that_cannot_be_is_not_found(owner: User, ask_id: object) -> None:
    result = answer_ask(ask_id=ask_id, by=owner, option="eu")  # type: ignore[arg-type]
    assert isinstance(result, Refused)
    assert result.http_status == 404
    assert len(Refusal.objects.get().ask_ref) <= 64


def test_an_id_may_come_as_text(question: Ask, owner: User) -> None:
    assert isinstance(answer_ask(ask_id=str(question.pk), by=owner, option="eu"), Answered)  # type: ignore[arg-type]


INVALID: list[dict[str, Any]] = [
    {"text": "a\0b"},
    {"text": "half \ud83d of it"},
    {"text": HUGE},
    {"text": "x" * 16_001},
    {"text": None},
    {"text": 5},
    {"text": ["Go on."]},
    {"text": {"value": "Go on."}},
    {"text": b"Go on."},
    {"option": "eu\0"},
    {"option": "\udfff"},
    {"option": 1},
    {"option": ["eu"]},
    {"option": None, "text": "Go on."},
    {"option": "eu", "text": "\0"},
]


@pytest.mark.case("C97")
@pytest.mark.parametrize("given", INVALID)
def test_an_answer_that_cannot_be_kept_is_invalid(
    question: Ask, owner: User, given: dict[str, Any]
) -> None:
    result = answer_ask(ask_id=question.pk, by=owner, **given)
    assert isinstance(result, Refused)
    assert (result.reason, result.http_status) == (Reason.INVALID, 422)
    kept = Refusal.objects.get().submitted
    assert len(kept["text"]) <= 2000
    assert len(kept["option"]) <= 200
    question.refresh_from_db()
    assert question.status == AskStatus.OPEN
    assert isinstance(answer_ask(ask_id=question.pk, by=owner, text="x" * 16_000), Answered)


def test_an_option_of_two_million_letters_is_unknown(question: Ask, owner: User) -> None:
    result = answer_ask(ask_id=question.pk, by=owner, option=HUGE)
    assert isinstance(result, Refused)
    assert result.http_status == 422


ECHOES: list[Any] = [
    [],
    "v1",
    5,
    {"action_hash": None},
    {"\0": "\ud800"},
    {str(n): HUGE for n in range(3)},
    {"action_hash": 10**5000, "policy_version": [], "run_version": {}},
    [["action_hash", "v1"]],
]


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echo_of_any_shape_is_no_binding(session: Session, owner: User, echo: Any) -> None:
    asked = AskFactory(session=session, action=REFUND)
    result = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo)
    assert isinstance(result, Refused)
    assert result.reason == Reason.UNBINDABLE
    assert len(str(Refusal.objects.get().submitted)) < 4000


@pytest.mark.parametrize("echo", ECHOES)
def test_an_echo_nobody_asked_for_is_not_looked_at(question: Ask, owner: User, echo: Any) -> None:
    result = answer_ask(ask_id=question.pk, by=owner, option="eu", echo=echo)
    assert isinstance(result, Answered)
    assert result.verdict.echo is None
    again = answer_ask(ask_id=question.pk, by=owner, option="eu")
    assert isinstance(again, Answered)
    assert again.repeated


def test_what_else_is_in_an_echo_is_not_kept(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, action=REFUND)
    echo = echo_of(asked)
    result = answer_ask(
        ask_id=asked.pk, by=owner, option="approve", echo={**echo, "\0": HUGE, "by": "ceo"}
    )
    assert isinstance(result, Answered)
    assert result.verdict.echo == echo


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=8)
    | st.lists(st.text(), max_size=2)
    | st.dictionaries(
        st.sampled_from(["action_hash", "policy_version", "run_version", "x"]),
        st.text() | st.integers(),
        max_size=4,
    )
)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(option=ANYTHING, text=ANYTHING, echo=ANYTHING, bound=st.booleans())
def test_nothing_that_is_sent_breaks_an_answer(
    session: Session, owner: User, option: Any, text: Any, echo: Any, bound: bool
) -> None:
    asked = AskFactory(session=session, free_text=True, action=REFUND if bound else None)
    result = answer_ask(ask_id=asked.pk, by=owner, option=option, text=text, echo=echo)
    asked.refresh_from_db()
    answered = isinstance(result, Answered)
    assert asked.status == (AskStatus.ANSWERED if answered else AskStatus.OPEN)
    assert asked.refusals.count() == (0 if answered else 1)
