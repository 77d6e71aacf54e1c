"""The card shows what its reader answered to the same question before, and nobody else's answers."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.models import Agent
from asks.answering import answer_ask
from asks.drafts import ActionDraft, AskDraft
from asks.models import Ask
from tests.pages import world
from tests.pages.html import Element, read
from tests.policies.world import group_of, in_force

pytestmark = pytest.mark.django_db


def answered(agent: Agent, draft: AskDraft, by: User, option: str = "", text: str = "") -> Ask:
    ask = world.asked(agent, draft)
    echo = world.echo_of(ask) if draft.action else None
    answer_ask(ask_id=ask.pk, by=by, option=option, text=text, echo=echo)
    return ask


def on_queue(client: Client, ask: Ask) -> Element:
    return read(client.get("/").content).one("article", id=f"ask-{ask.pk}")


def earlier(client: Client, ask: Ask) -> str:
    """What the card of a page says, which the queue says too."""
    page = read(client.get(f"/asks/{ask.pk}/").content).one("article", id=f"ask-{ask.pk}")
    said = [one.words for one in page.all("p", class_="earlier-answers")]
    assert said == [one.words for one in on_queue(client, ask).all("p", class_="earlier-answers")]
    return said[0] if said else ""


def test_the_same_question_shows_what_its_reader_answered(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    for number, option in enumerate(("eu", "us", "eu", "")):
        draft = world.question(f"k{number}", free_text=True)
        answered(agent, draft, owner, option, "neither" if not option else "")
    ask = world.asked(agent, world.question("k9", free_text=True))
    words = (
        "You answered this 4 times: EU ledger \u00d72, in words \u00d71, US ledger \u00d71, last"
    )
    assert earlier(as_owner, ask).startswith(words)


def test_the_same_operation_shows_it_whatever_its_arguments(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    answered(agent, world.approval("k1"), owner, "reject")
    other = ActionDraft("stripe.refunds.create", {"charge": "ch_2"})
    ask = world.asked(agent, replace(world.approval("k2", other), prompt="Another refund?"))
    assert earlier(as_owner, ask).startswith(
        "You decided this operation 1 time: Reject \u00d71, last"
    )


@pytest.mark.parametrize("what", ["agent", "prompt", "options", "person", "operation"])
def test_another_question_or_person_does_not(
    as_owner: Client, owner: User, colleague: User, what: str
) -> None:
    agent = world.agent_of(owner, colleague)
    before = world.approval("k1") if what == "operation" else world.question("k1")
    option = "approve" if what == "operation" else "eu"
    answered(agent, before, colleague if what == "person" else owner, option)
    fresh = world.question("k2")
    if what == "agent":
        agent = world.agent_of(owner, slug="other")
    elif what == "prompt":
        fresh = replace(fresh, prompt="Which ledger?")
    elif what == "options":
        fresh = replace(fresh, options=world.RELEASE)
    elif what == "operation":
        fresh = world.approval("k2", ActionDraft("other", {}))
    assert earlier(as_owner, world.asked(agent, fresh)) == ""


def test_what_may_not_be_read_any_more_is_not_shown(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    group = group_of("finance", owner)
    in_force(agent, confidential=True, answered_by="group:finance")
    answered(agent, world.question("k1"), owner, "eu")
    ask = world.asked(agent, world.question("k2"))
    assert "EU ledger \u00d71" in earlier(as_owner, ask)
    answer_ask(ask_id=ask.pk, by=owner, option="us")
    in_force(agent)
    group.user_set.clear()
    assert earlier(as_owner, world.asked(agent, world.question("k3"))) == ""


def test_hostile_labels_stay_text(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    options = tuple(replace(one, label=f"<b>{one.key}\u202e") for one in world.EU_OR_US)
    answered(agent, world.question("k1", options=options), owner, "eu")
    ask = world.asked(agent, world.question("k2", options=options))
    assert "<b>eu⟦U+202E⟧ \u00d71" in earlier(as_owner, ask)


@pytest.mark.parametrize("count", [1, 30])
def test_it_takes_one_query_for_any_number_of_cards(
    as_owner: Client, owner: User, count: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    agent = world.agent_of(owner)
    drafts = [world.question(f"k{n}", prompt=f"Question {n}?") for n in range(count)]
    for draft in drafts[:3]:
        answered(agent, replace(draft, request_key=f"{draft.request_key}-0"), owner, "eu")
    world.turn(agent, *drafts)
    with django_assert_max_num_queries(13):
        page = read(as_owner.get("/").content)
    assert len(page.all("p", class_="earlier-answers")) == min(count, 3)


def test_the_migration_computes_the_same_digests(owner: User) -> None:
    agent = world.agent_of(owner)
    drafts = (world.question(), world.approval(), world.question("free", "Söhne\n?", ()))
    world.turn(agent, *drafts)
    digests = dict(Ask.objects.values_list("pk", "likeness"))
    assert all(digests.values())
    Ask.objects.update(likeness="")
    with connection.cursor() as cursor:
        cursor.execute(import_module("asks.migrations.0004_know_same_questions").DIGEST)
    assert dict(Ask.objects.values_list("pk", "likeness")) == digests
