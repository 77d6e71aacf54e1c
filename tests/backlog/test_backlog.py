"""What nobody decided in time waits in the backlog, until it is asked again or dropped with a reason."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.test import Client

from agents import controls, messages
from agents.db.expressions import database_now
from agents.lifecycle import SessionState
from agents.models import Agent, Session
from agents.registration import open_session
from asks.backlog import backlog_asks, dismiss_ask, reopen_ask
from asks.deadlines.expiry import expire_due_asks
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask, Dropped, LedgerRecord, Refusal, Verdict
from asks.queue import queries
from asks.refusals import Refused
from asks.retirement import retire_agent
from tests.factories import REFUND, AskFactory, echo_of, verdict_on
from tests.pages.html import Element, read
from tests.policies.world import in_force, refund

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def expire(asked: Ask, ago: timedelta = timedelta(0)) -> Ask:
    then = database_now() - ago
    Ask.objects.filter(pk=asked.pk).update(opened_at=then - 2 * HOUR, expires_at=then)
    assert expire_due_asks() == 1
    asked.refresh_from_db()
    return asked


@pytest.fixture
def expired(session: Session) -> Ask:
    return expire(AskFactory(session=session, action=REFUND, expires_in=HOUR))


@pytest.fixture
def client(owner: User) -> Client:
    made = Client()
    made.force_login(owner)
    return made


def backlog(client: Client) -> Element:
    response = client.get("/backlog/")
    assert response.status_code == 200
    return read(response.content)


@pytest.mark.case("C69", "C67")
def test_one_click_asks_it_again_with_a_fresh_binding(
    expired: Ask, agent: Agent, owner: User, client: Client
) -> None:
    in_force(agent, refund())
    row = backlog(client).one("li", id=f"backlog-{expired.pk}")
    form = row.one("form", action=f"/asks/{expired.pk}/again").fields()
    response = client.post(f"/asks/{expired.pk}/again", form)
    fresh = Ask.objects.get(status=AskStatus.OPEN)
    assert response.headers["Location"] == f"/asks/{fresh.pk}/"
    assert (fresh.repeats, fresh.gate.policy_version) == (expired, 1)
    assert "Nothing is undecided" in backlog(client).words
    assert not Verdict.objects.exists()
    verdict_on(fresh, owner)


@pytest.mark.case("C67")
def test_a_click_on_a_card_that_has_expired_says_so_and_offers_to_ask_again(
    session: Session, client: Client
) -> None:
    asked = AskFactory(session=session, action=REFUND, expires_in=HOUR)
    echo = echo_of(asked)
    expire(asked)
    response = client.post(
        f"/asks/{asked.pk}/answer", {**echo, "option": "approve"}, headers={"HX-Request": "true"}
    )
    assert response.status_code == 410
    card = read(response.content).one("article", id=f"ask-{asked.pk}")
    assert "Nobody answered in time." in card.words
    assert card.one("form", action=f"/asks/{asked.pk}/again").words == "Ask it again"
    assert client.post(f"/asks/{asked.pk}/again").status_code == 302


@pytest.mark.case("C67")
def test_a_card_on_the_screen_turns_by_itself(session: Session, client: Client) -> None:
    asked = AskFactory(session=session, expires_in=HOUR)
    expire(asked)
    sent = read(client.get(f"/queue/changes?have=ask-{asked.pk}").content)
    card = sent.one("article", id=f"ask-{asked.pk}")
    assert "Nobody answered in time" in card.words
    assert card.one("a", href="/backlog/")


def test_dropping_takes_a_reason_and_is_written_down(
    expired: Ask, owner: User, client: Client
) -> None:
    url = f"/asks/{expired.pk}/drop"
    refused = client.post(url, {"reason": " \u200b"})
    assert refused.status_code == 422
    row = read(refused.content).one("li", id=f"backlog-{expired.pk}")
    assert "Say why it needs no decision." in row.words
    assert not Dropped.objects.exists()

    assert client.post(url, {"reason": "The customer left."}).status_code == 302
    dropped = Dropped.objects.get()
    assert (dropped.ask, dropped.by, dropped.reason) == (expired, owner, "The customer left.")
    assert LedgerRecord.objects.get(kind="dropped").actor == "human:olga"
    assert "Nothing is undecided" in backlog(client).words
    expired.refresh_from_db()
    assert expired.status == AskStatus.EXPIRED
    with pytest.raises(DatabaseError), transaction.atomic():
        Dropped.objects.update(reason="another")


def test_dropping_again_changes_nothing(expired: Ask, owner: User, colleague: User) -> None:
    first = dismiss_ask(ask_id=expired.pk, by=owner, reason="One.")
    assert dismiss_ask(ask_id=expired.pk, by=colleague, reason="Two.") == first
    assert Dropped.objects.get().reason == "One."


def test_what_was_dropped_is_not_asked_again_and_the_other_way_round(
    expired: Ask, session: Session, owner: User
) -> None:
    dismiss_ask(ask_id=expired.pk, by=owner, reason="Over.")
    again = reopen_ask(ask_id=expired.pk, by=owner)
    assert isinstance(again, Refused)
    assert again.detail == "This question was dismissed."

    other = expire(AskFactory(session=session, expires_in=HOUR))
    assert isinstance(reopen_ask(ask_id=other.pk, by=owner), Ask)
    refused = dismiss_ask(ask_id=other.pk, by=owner, reason="Over.")
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.CLOSED


@pytest.mark.parametrize("status", ["open", "answered"])
def test_only_what_expired_is_dropped(session: Session, owner: User, status: str) -> None:
    asked = AskFactory(session=session)
    if status == "answered":
        verdict_on(asked, owner)
    refused = dismiss_ask(ask_id=asked.pk, by=owner, reason="x")
    assert isinstance(refused, Refused)
    assert refused.http_status == 409


def test_a_stranger_finds_and_drops_nothing(expired: Ask, stranger: User) -> None:
    client = Client()
    client.force_login(stranger)
    assert "Nothing is undecided" in backlog(client).words
    for verb in ("again", "drop"):
        response = client.post(f"/asks/{expired.pk}/{verb}", {"reason": "x"})
        assert response.status_code == 404
    assert Refusal.objects.filter(by=stranger, reason=Reason.NOT_FOUND).count() == 2
    assert not Dropped.objects.exists()
    assert Ask.objects.count() == 1


@pytest.mark.parametrize("verb", ["again", "drop", "claim", "release", "extend"])
def test_only_a_post_does_anything(expired: Ask, client: Client, verb: str) -> None:
    assert client.get(f"/asks/{expired.pk}/{verb}").status_code == 302
    assert Ask.objects.count() == 1
    assert not Dropped.objects.exists()


def test_a_decision_stays_undecided_although_its_session_goes_on(
    expired: Ask, session: Session, owner: User
) -> None:
    controls.resume_session(session_id=session.pk, by=owner)
    session.refresh_from_db()
    assert session.state == SessionState.ACTIVE
    assert list(backlog_asks(owner)) == [expired]


def test_what_is_over_for_good_is_undecided_no_more(expired: Ask, owner: User) -> None:
    retire_agent(agent_id=expired.agent_id, by=owner)
    assert list(backlog_asks(owner)) == []


@pytest.mark.case("C70")
def test_many_old_ones_are_listed_by_age_and_badge_nothing(
    agent: Agent, owner: User, client: Client
) -> None:
    for number in range(3):
        asked = AskFactory(
            session=open_session(agent), prompt=f"Question {number}?", expires_in=HOUR
        )
        expire(asked, ago=timedelta(days=number))
    assert queries.count_badge(owner) == 0
    page = backlog(client)
    asked_for = [one.words for one in page.all("span", class_="why--words")]
    assert asked_for == ["Question 2?", "Question 1?", "Question 0?"]
    assert "Expired 2 d 0 h ago" in page.words
    assert "Nothing waits on you" in read(client.get("/").content).words


@pytest.mark.case("C70")
def test_asks_of_an_agent_that_is_gone_are_not_counted(agent: Agent, owner: User) -> None:
    AskFactory(session=open_session(agent))
    assert queries.count_badge(owner) == 1
    retire_agent(agent_id=agent.pk, by=owner)
    assert queries.count_badge(owner) == 0


def test_the_page_takes_as_many_queries_for_many_as_for_one(
    agent: Agent, client: Client, django_assert_max_num_queries: object
) -> None:
    for _ in range(4):
        expire(AskFactory(session=open_session(agent), action=REFUND, expires_in=HOUR))
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        client.get("/backlog/")


def test_a_message_to_the_paused_session_decides_nothing(
    expired: Ask, session: Session, owner: User
) -> None:
    messages.post_message(session_id=session.pk, by=owner, text="What was that?")
    assert list(backlog_asks(owner)) == [expired]
