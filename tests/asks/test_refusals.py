"""Answers that are turned down: in one order, recorded, with the ask left open and nothing woken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User

from agents.db.expressions import database_now
from agents.lifecycle import RunStatus, Status
from agents.models import Run, Session
from asks.answering import Answered, answer_ask
from asks.lifecycle import HTTP_STATUS, AskStatus, Reason
from asks.models import Ask, Refusal, Verdict
from asks.policies import versions
from asks.refusals import Refused
from asks.withdrawing import withdraw_ask
from tests.factories import MONEY, REFUND, AskFactory, echo_of, verdict_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def question(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session, free_text=True)
    return asked


@pytest.fixture
def choice(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session)
    return asked


@pytest.fixture
def approval(session: Session) -> Ask:
    asked: Ask = AskFactory(session=session, action=REFUND)
    return asked


def refused(ask: Ask, by: User | AnonymousUser, **answered: object) -> Refused:
    result = answer_ask(ask_id=ask.pk, by=by, **answered)  # type: ignore[arg-type]
    assert isinstance(result, Refused), result
    return result


@pytest.fixture(autouse=True)
def _nothing_comes_of_a_refusal() -> Iterator[None]:
    """After every test here: no verdict, no second run, and each refusal is a row."""
    yield
    if Verdict.objects.exists():
        return
    assert list(Run.objects.values_list("status", flat=True)) in ([], [RunStatus.WAITING_HUMAN])
    assert Refusal.objects.exists()


BLANK = [
    "",
    "   ",
    "\t\n",
    "\u00a0",
    "\u200b",
    "\u200b\u2060\ufeff",
    "\u202e\u202c",
    "\u3164",
    "\u2800",
    "\u0300",
    "\r\n \x1f",
]


@pytest.mark.case("C01", "C03", "aoa-29")
@pytest.mark.parametrize("text", BLANK)
def test_a_blank_answer_is_no_answer(question: Ask, owner: User, text: str) -> None:
    result = refused(question, owner, text=text)
    assert (result.reason, result.http_status) == (Reason.EMPTY, 422)
    assert result.detail == "An empty answer is not an answer."
    question.refresh_from_db()
    assert question.status == AskStatus.OPEN


@pytest.mark.case("C03", "aoa-29")
@pytest.mark.parametrize("text", ["", "EU ledger", "eu"])
def test_an_option_must_be_chosen_where_words_are_not_asked_for(
    choice: Ask, owner: User, text: str
) -> None:
    result = refused(choice, owner, text=text)
    assert (result.reason, result.detail) == (Reason.EMPTY, "Pick one of the options.")


@pytest.mark.case("C02", "aoa-24")
@pytest.mark.parametrize("option", ["never", "EU ledger", "EU", "eu ", " ", "opt1", "1"])
def test_an_option_that_was_not_offered_is_unknown(choice: Ask, owner: User, option: str) -> None:
    result = refused(choice, owner, option=option)
    assert (result.reason, result.http_status) == (Reason.UNKNOWN_OPTION, 422)
    assert Refusal.objects.get().submitted["option"] == option


def test_an_option_of_another_ask_is_unknown(choice: Ask, approval: Ask, owner: User) -> None:
    result = answer_ask(ask_id=choice.pk, by=owner, option="approve")
    assert isinstance(result, Refused)
    assert result.reason == Reason.UNKNOWN_OPTION
    verdict_on(approval, owner)


@pytest.mark.parametrize("who", ["stranger", "nobody", "left", "lost"])
def test_who_owns_nothing_here_finds_nothing(
    choice: Ask, owner: User, stranger: User, who: str
) -> None:
    person: User | AnonymousUser = AnonymousUser() if who == "nobody" else stranger
    if who in ("left", "lost"):
        choice.agent.owners.add(stranger)
        assert refused(choice, stranger, option="never").reason == Reason.UNKNOWN_OPTION
    if who == "left":  # the object at hand still says that they may
        User.objects.filter(pk=stranger.pk).update(is_active=False)
    if who == "lost":
        choice.agent.owners.remove(stranger)
    result = refused(choice, person, option="eu")
    assert (result.reason, result.http_status) == (Reason.NOT_FOUND, 404)
    assert result.ask is None
    assert not choice.session.events.filter(kind="refused", text=result.detail).exists()


def test_a_strangers_attempt_is_in_the_audit(choice: Ask, stranger: User) -> None:
    refused(choice, stranger, option="eu")
    row = Refusal.objects.get()
    assert (row.by, row.ask, row.reason) == (stranger, choice, Reason.NOT_FOUND)


def test_an_ask_that_is_not_there(owner: User) -> None:
    result = answer_ask(ask_id=4711, by=owner, option="eu")
    assert isinstance(result, Refused)
    assert result.http_status == 404
    row = Refusal.objects.get()
    assert (row.ask, row.ask_ref, row.by) == (None, "4711", owner)


def test_an_expired_ask_is_refused_before_anybody_closed_it(choice: Ask, owner: User) -> None:
    Ask.objects.filter(pk=choice.pk).update(expires_at=database_now() - timedelta(seconds=1))
    result = refused(choice, owner, option="eu")
    assert (result.reason, result.http_status) == (Reason.EXPIRED, 410)
    assert "Nothing was approved" in result.detail


def test_a_withdrawn_ask_says_by_whom(choice: Ask, owner: User, colleague: User) -> None:
    withdraw_ask(ask_id=choice.pk, by=colleague)
    result = answer_ask(ask_id=choice.pk, by=owner, option="eu")
    assert isinstance(result, Refused)
    assert (result.reason, result.http_status) == (Reason.CLOSED, 409)
    assert result.detail == "This question was already withdrawn by carl."
    verdict_on(AskFactory(session=choice.session), owner)


@pytest.mark.case("aoa-21")
@pytest.mark.parametrize("with_echo", [True, False])
def test_a_money_critical_ask_is_not_answered_here(
    session: Session, owner: User, with_echo: bool
) -> None:
    asked = AskFactory(session=session, action=MONEY)
    echo = echo_of(asked) if with_echo else None
    result = refused(asked, owner, option="approve", echo=echo)
    assert (result.reason, result.http_status) == (Reason.GATED, 403)
    assert "This action moves money" in result.detail
    asked.refresh_from_db()
    assert asked.status == AskStatus.OPEN


@pytest.mark.case("aoa-28")
@pytest.mark.parametrize(
    "without",
    [
        ("action_hash", "policy_version", "run_version"),
        ("action_hash",),
        ("policy_version",),
        ("run_version",),
    ],
)
def test_an_approval_needs_its_whole_binding(
    approval: Ask, owner: User, without: tuple[str, ...]
) -> None:
    echo = {name: value for name, value in echo_of(approval).items() if name not in without}
    result = refused(approval, owner, option="approve", echo=echo)
    assert (result.reason, result.http_status) == (Reason.UNBINDABLE, 428)
    approval.refresh_from_db()
    assert approval.status == AskStatus.OPEN


@pytest.mark.case("aoa-22", "aoa-28")
@pytest.mark.parametrize(
    "drift", [{"action_hash": "v1:" + "0" * 64}, {"policy_version": 7}, {"run_version": "9.9"}]
)
def test_an_answer_to_something_else_is_stale_and_the_ask_stays(
    approval: Ask, owner: User, drift: dict[str, object]
) -> None:
    exact = echo_of(approval)
    result = refused(approval, owner, option="approve", echo={**exact, **drift})
    assert (result.reason, result.http_status) == (Reason.STALE, 409)
    assert result.replaced_by is None
    assert isinstance(
        answer_ask(ask_id=approval.pk, by=owner, option="approve", echo=exact), Answered
    )


@pytest.mark.case("X7")
def test_a_policy_that_changed_makes_an_answer_stale(approval: Ask, owner: User) -> None:
    """What the row said and what came back agree; the world does not."""
    versions.add_version(agent_id=approval.agent_id, rules={}, why="A new year.", by=owner)
    result = refused(approval, owner, option="approve", echo=echo_of(approval))
    assert result.reason == Reason.STALE
    fresh = result.replaced_by
    assert fresh is not None
    approval.refresh_from_db()
    assert (approval.status, approval.superseded_by) == (AskStatus.SUPERSEDED, fresh)
    assert fresh.gate.policy_version == 1
    approval.session.refresh_from_db()
    assert (approval.session.status, approval.session.open_asks) == (Status.WAITING_HUMAN, 1)

    again = refused(approval, owner, option="approve", echo=echo_of(approval))
    assert (again.reason, again.replaced_by) == (Reason.STALE, fresh)
    assert isinstance(
        answer_ask(ask_id=fresh.pk, by=owner, option="approve", echo=echo_of(fresh)), Answered
    )


def break_nothing(ask: Ask) -> None: ...


def close(ask: Ask) -> None:
    withdraw_ask(ask_id=ask.pk, by=ask.agent.owners.get(username="carl"))


def expire(ask: Ask) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now() - timedelta(seconds=1))


#: From the last reason to the first: an answer with all the flaws so far, and which one is named.
ORDER: list[tuple[Reason, dict[str, object], Callable[[Ask], None]]] = [
    (Reason.UNKNOWN_OPTION, {"option": "never"}, break_nothing),
    (Reason.EMPTY, {"option": "", "text": " "}, break_nothing),
    (Reason.INVALID, {"option": "", "text": "\0"}, break_nothing),
    (Reason.STALE, {"text": "\0", "echo": "another"}, break_nothing),
    (Reason.UNBINDABLE, {"text": "\0", "echo": None}, break_nothing),
    (Reason.EXPIRED, {"text": "\0", "echo": None}, expire),
    (Reason.CLOSED, {"text": "\0", "echo": None}, close),
]


@pytest.mark.parametrize(("reason", "flawed", "break_it"), ORDER)
def test_the_first_reason_is_the_one_that_is_named(
    session: Session,
    owner: User,
    reason: Reason,
    flawed: dict[str, object],
    break_it: Callable[[Ask], None],
) -> None:
    asked = AskFactory(session=session, action=REFUND, free_text=True)
    exact = echo_of(asked)
    if "echo" not in flawed:
        flawed = {**flawed, "echo": exact}
    elif flawed["echo"] == "another":
        flawed = {**flawed, "echo": {**exact, "run_version": "0.0"}}
    break_it(asked)
    result = answer_ask(ask_id=asked.pk, by=owner, **flawed)  # type: ignore[arg-type]
    assert isinstance(result, Refused)
    assert result.reason == reason
    assert result.http_status == HTTP_STATUS[reason]
    row = Refusal.objects.get()
    assert (row.ask, row.by, row.reason, row.detail) == (asked, owner, reason, result.detail)
    verdict_on(AskFactory(session=session), owner)


def test_money_comes_before_the_binding_and_access_before_everything(
    session: Session, owner: User, stranger: User
) -> None:
    asked = AskFactory(session=session, action=MONEY, free_text=True)
    assert refused(asked, owner, text="\0").reason == Reason.GATED
    expire(asked)
    assert refused(asked, owner, text="\0").reason == Reason.EXPIRED
    assert refused(asked, stranger, text="\0").reason == Reason.NOT_FOUND


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_a_status_and_a_sentence(reason: Reason) -> None:
    assert 400 <= HTTP_STATUS[reason] < 500
    assert str(reason.label).endswith(".")
    Refusal.objects.create(ask_ref="1", reason=reason)


def test_an_owner_sees_the_refusal_in_the_thread(choice: Ask, owner: User) -> None:
    refused(choice, owner, option="never")
    event = choice.session.events.get(kind="refused")
    assert (event.actor, event.text) == ("human:olga", "That option was not offered.")
    assert event.data == {"ask_id": choice.pk, "reason": "unknown_option"}
