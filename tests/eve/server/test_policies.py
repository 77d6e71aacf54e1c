"""What a policy says counts on eve's wire as at every door, and what a page shows of its asks."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent, InboxItem
from asks.lifecycle import AskStatus
from asks.models import Grant, Verdict
from tests.eve.server.world import (
    LEDGERS,
    REFUND,
    Caller,
    carry_all,
    key_for,
    of,
    outcomes,
    refused,
    results,
    types,
)
from tests.pages.html import read
from tests.policies.world import group_of, in_force, refund
from workspace.protocols.eve.errors import EveProblem

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body", [{"message": "approve"}, {"inputResponses": [{"optionId": "approve"}]}]
)
def test_what_moves_money_is_not_approved_here(
    caller: Caller, agent: Agent, body: dict[str, object]
) -> None:
    in_force(agent, refund(money_critical=True))
    talk = caller.open(REFUND)
    [request] = talk.open_requests()
    before = talk.events()
    if "inputResponses" in body:
        answer = {"requestId": request["requestId"], "optionId": "approve"}
        body = {"inputResponses": [answer]}

    with pytest.raises(EveProblem) as problem:
        talk.send(**body)

    assert refused(problem.value) == (403, "gated")
    assert talk.events() == before
    assert talk.row.events.latest("seq").kind == "refused"
    assert not Grant.objects.exists()


def test_a_policy_that_changed_since_has_it_asked_again(caller: Caller, agent: Agent) -> None:
    """The old request is closed, another stands in its place, and the old answer is no answer."""
    talk = caller.open(REFUND)
    [request] = talk.open_requests()
    in_force(agent, refund(reason_for=["deny"]))

    with pytest.raises(EveProblem) as problem:
        talk.choose("approve")

    assert refused(problem.value) == (409, "stale")
    [again] = talk.open_requests()
    assert again["requestId"] != request["requestId"]
    assert again["action"] == request["action"]
    assert results(talk.events()) == []

    told = talk.choose("approve", "The customer asked for it.")
    assert outcomes(told) == ["approved"]
    assert results(told) == ["completed"]


def test_a_vote_that_does_not_decide_leaves_it_open(
    caller: Caller, agent: Agent, colleague: User
) -> None:
    in_force(agent, refund(quorum=2))
    talk = caller.open(REFUND)

    assert types(talk.choose("approve")) == ["session.waiting"]
    assert talk.open_requests()
    told = talk.by(Caller(key_for(agent, colleague, name="carls"))).choose("approve")
    assert outcomes(told) == ["approved"]
    assert results(told) == ["completed"]


def test_an_owner_who_may_not_answer_does_not_talk_past_it(
    caller: Caller, agent: Agent, stranger: User
) -> None:
    group_of("finance", stranger)
    in_force(agent, refund(answered_by="group:finance"))
    talk = caller.open(REFUND)

    for said in ("approve", "never mind"):
        with pytest.raises(EveProblem) as problem:
            talk.say(said)
        assert refused(problem.value) == (403, "not_allowed")
    assert talk.open_requests()


def test_what_is_confidential_is_not_told(caller: Caller, agent: Agent) -> None:
    in_force(agent, refund(confidential=True))
    [request] = caller.open(REFUND).open_requests()

    assert "ch_1" not in str(request)
    assert "refund" not in request["prompt"]
    assert [option["id"] for option in request["options"]] == ["approve", "deny"]


def test_an_ask_that_expired_approved_nothing(caller: Caller, agent: Agent) -> None:
    from asks.deadlines import expiry
    from asks.models import Ask

    talk = caller.open(REFUND)
    ask = talk.asks()[0]
    Ask.objects.filter(pk=ask.pk).update(expires_at=ask.opened_at)
    assert expiry.expire_due_asks() == 1

    assert outcomes(talk.events()) == ["cancelled"]
    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": ask.request_key, "optionId": "approve"})
    assert refused(problem.value) == (410, "expired")
    assert not Verdict.objects.exists()


@pytest.mark.case("C16")
def test_an_open_approval_holds_no_question_up(caller: Caller, owner: User) -> None:
    """Each card is answered by a form of its own, whatever waits beside it."""
    talk = caller.open(f"{REFUND}; {LEDGERS}")
    approval, question = talk.asks() if talk.asks()[0].kind == "approval" else talk.asks()[::-1]
    client = Client()
    client.force_login(owner)

    page = read(client.get("/").content)
    for ask in (approval, question):
        form = page.one("form", action=f"/asks/{ask.pk}/answer")
        assert form.attrs["hx-target"] == f"#ask-{ask.pk}"
        assert form.all("button")
        assert not [button for button in form.all("button") if "disabled" in button.attrs]

    client.post(f"/asks/{question.pk}/answer", {"option": "us"})
    approval.refresh_from_db()
    assert approval.status == AskStatus.OPEN
    assert of(talk.events(), "input.resolved")[-1]["resolutions"][0]["outcome"] == "answered"


@pytest.mark.case("C15")
def test_a_question_that_wants_several_choices_has_no_button_for_one(caller: Caller) -> None:
    """Such a question is told to its agent as no question, and nobody is shown it."""
    talk = caller.open(
        'ask {"prompt":"Which?","options":[{"label":"a"},{"label":"b"}],"multi":true}'
    )

    assert not talk.asks()
    assert "multi" in of(talk.events(), "message.completed")[-1]["message"]


def test_what_was_passed_over_is_said_on_its_card(caller: Caller, owner: User) -> None:
    talk = caller.open(REFUND)
    talk.say("never mind")
    [ask] = talk.asks()
    client = Client()
    client.force_login(owner)

    page = read(client.get(f"/asks/{ask.pk}/").content)

    assert "gnored" in page.one("article", id=f"ask-{ask.pk}").words
    assert not InboxItem.objects.filter(session=talk.row, kind="verdict").exists()


def test_a_paused_agent_takes_the_answer_and_carries_it_later(
    caller: Caller, agent: Agent, owner: User
) -> None:
    from agents import controls

    talk = caller.open(REFUND)
    controls.pause_agent(agent_id=agent.pk, by=owner)
    told = talk.choose("approve")
    assert types(told) == ["approval.settled", "input.resolved", "session.waiting"]

    controls.resume_agent(agent_id=agent.pk, by=owner)
    carry_all()
    assert results(talk.events()) == ["completed"]
