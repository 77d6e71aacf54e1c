"""What an owner sees of a leaf session: the gate's card, its past, its thread, what was given up."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from asks.models import Ask, Verdict
from tests.factories import echo_of
from tests.leaf.world import (
    UNGATED,
    Brain,
    Orchestrator,
    ask_approval,
    carry_all,
    key_for,
    leaf_agent,
    session_of,
    submit,
)
from tests.pages.html import read

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_owner(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def parked(owner: User) -> Agent:
    """A session that waits at its second gate, after a rejection with words."""
    Brain(
        "writer",
        [ask_approval("I read **a.py**.", "Submit FLAGGED.")],
        [ask_approval("I read the callers too.", "Submit FLAGGED for both.")],
        [submit()],
    )
    agent = leaf_agent(owner, model="writer")
    orchestrator = Orchestrator(key_for(agent, owner))
    orchestrator.run()
    orchestrator.decide(0, "reject", "check the callers")
    return agent


def words_of(client: Client, path: str) -> str:
    """All that a page says."""
    response = client.get(path)
    assert response.status_code == 200
    return read(response.content).words


def ask_of(agent: Agent) -> Ask:
    return Ask.objects.get(agent=agent, status="open")


def press(client: Client, agent: Agent, option: str, **more: Any) -> Any:
    ask = ask_of(agent)
    form = {"option": option, **echo_of(ask), **more}
    return client.post(f"/asks/{ask.pk}/answer", form, headers={"HX-Request": "true"})


def test_the_card_of_a_gate(as_owner: Client, parked: Agent) -> None:
    page = read(as_owner.get("/").content)
    text = page.one("article", id=f"ask-{ask_of(parked).pk}").words

    assert "gate 1" in text
    assert "I read the callers too." in text
    assert "Submit FLAGGED for both." in text
    assert "Note to " in text
    for word in ("Approve", "Reject", "Abort"):
        assert word in text
    assert text.count("I read the callers too.") == 1


def test_the_card_shows_the_gates_before_it_with_their_verdicts(
    as_owner: Client, parked: Agent
) -> None:
    text = words_of(as_owner, f"/asks/{ask_of(parked).pk}/")

    assert "gate 0 olga: Reject “check the callers” I read a.py." in text


def test_a_rejection_carries_its_words(as_owner: Client, parked: Agent) -> None:
    response = press(as_owner, parked, "reject", text="and the tests")

    assert response.status_code == 200
    verdict = Verdict.objects.order_by("-pk").first()
    assert verdict is not None
    assert (verdict.option_label, verdict.text) == ("Reject", "and the tests")


def test_words_alone_decide_nothing(as_owner: Client, parked: Agent) -> None:
    ask = ask_of(parked)
    response = as_owner.post(
        f"/asks/{ask.pk}/answer",
        {**echo_of(ask), "text": "approve", "send": "words"},
        headers={"HX-Request": "true"},
    )

    assert response.status_code == 422
    assert "Pick one of the options." in response.content.decode()
    assert "approve</textarea>" in response.content.decode()
    assert ask_of(parked) == ask


def test_an_abort_takes_a_second_press(as_owner: Client, parked: Agent) -> None:
    first = press(as_owner, parked, "abort", text="enough")
    assert "Press again to be sure." in first.content.decode()
    assert ask_of(parked).status == "open"

    press(as_owner, parked, "abort", confirmed="abort", text="enough")

    carry_all()
    assert Verdict.objects.order_by("-pk")[0].text == "enough"
    assert not Ask.objects.filter(agent=parked, status="open").exists()


def test_the_whole_sequence_is_in_the_thread(as_owner: Client, parked: Agent) -> None:
    press(as_owner, parked, "approve")
    carry_all()

    text = words_of(as_owner, f"/sessions/{session_of(parked).pk}/")

    story = [
        "Review i1",
        "gate 0",
        "olga answered Reject",
        "check the callers",
        "gate 1",
        "olga answered Approve",
        "FLAGGED for i1.",
    ]
    places = [text.find(part) for part in story]
    assert -1 not in places, story[places.index(-1)]
    assert places == sorted(places)


@pytest.fixture
def dead(owner: User) -> Agent:
    Brain("away", [OSError("the model is away")])
    agent = leaf_agent(owner, model="away", max_attempts=1)
    Orchestrator(key_for(agent, owner)).send({"sessionId": "s", "item": UNGATED, "async": True})
    carry_all()
    return agent


@pytest.mark.case("leaf-Q02")
def test_what_was_given_up_is_listed_and_tried_again(as_owner: Client, dead: Agent) -> None:
    assert "1 given up" in words_of(as_owner, "/agents/")
    page = words_of(as_owner, "/given-up/")
    assert "the model is away" in page
    assert "i1 in a.py" in page
    Brain("away", [submit()])

    response = as_owner.post(f"/given-up/{session_of(dead).pk}/retry")
    carry_all()

    assert response.status_code == 302
    assert session_of(dead).data["result"]["verdict"] == "FLAGGED"
    assert "Nothing was given up" in words_of(as_owner, "/given-up/")


def test_nobody_elses_are_listed_or_tried(dead: Agent, stranger: User) -> None:
    client = Client()
    client.force_login(stranger)

    assert "Nothing was given up" in words_of(client, "/given-up/")
    assert client.post(f"/given-up/{session_of(dead).pk}/retry").status_code == 404


def test_what_a_person_paused_is_not_given_up(as_owner: Client, parked: Agent) -> None:
    assert "Nothing was given up" in words_of(as_owner, "/given-up/")
    assert as_owner.post(f"/given-up/{session_of(parked).pk}/retry").status_code == 404


@pytest.mark.parametrize("count", [1, 5])
def test_earlier_gates_cost_no_query_per_card(
    as_owner: Client, owner: User, count: int, django_assert_max_num_queries: Any
) -> None:
    Brain("asker", [ask_approval()])
    agent = leaf_agent(owner, model="asker")
    orchestrator = Orchestrator(key_for(agent, owner))
    for number in range(count):
        orchestrator.run(f"run/{number}")
        orchestrator.run(f"run/{number}", decision={"gateId": 0, "action": "reject"})

    with django_assert_max_num_queries(16):
        as_owner.get("/")
