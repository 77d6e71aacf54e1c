"""An agent that cannot start or keeps failing is a card for its owners, counted like every card."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents import claims, controls, settlement
from agents.lifecycle import Outcome, Status
from agents.models import Agent, Session
from agents.running.runtime import Ended
from asks.queue import queries
from asks.retirement import retire_agent
from tests.pages import world
from tests.pages.conftest import signed_in
from tests.pages.html import read
from workspace.health.metrics import metrics_text
from workspace.live.access_checks import queue_marks
from workspace.pages import fragments

pytestmark = pytest.mark.django_db

MISSING = "The working folder /srv/nowhere does not exist."


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return world.agent_of(owner, colleague)


def fail(agent: Agent, **ended: Any) -> Session:
    """One turn of the home session that fails."""
    owner = agent.owners.first()
    assert owner is not None
    run = controls.start_session(session_id=world.home(agent).pk, by=owner)
    assert run is not None
    turn = claims.claim_run(run_id=run.pk, worker="test")
    assert turn is not None
    failed = Ended(outcome=Outcome.RETRYABLE_ERROR, **{"error": MISSING, **ended})
    assert settlement.settle_run(turn.fence, failed)
    return world.home(agent)


def main_words(client: Client, path: str = "/") -> str:
    return read(client.get(path).content).one("main").words


def badge(person: User) -> int:
    return queries.count_badge(person)


def test_an_agent_that_cannot_start_is_a_card_at_once(
    as_owner: Client, owner: User, agent: Agent
) -> None:
    session = fail(agent, cannot_start=True)
    page = read(as_owner.get("/").content)
    card = page.one("article", id=f"agent-{agent.pk}")
    assert MISSING in card.words
    assert card.one("form", action="/agents/ledger-close/pause")
    assert card.one("form", action="/agents/ledger-close/retry")
    assert session.status == Status.FAILING
    assert "1 decision waits" in page.one("main").words
    assert page.one("span", id="needs-badge").attrs["data-count"] == "1"
    assert "No agent is idle." in page.one("main").words
    assert badge(owner) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_one_or_two_failures_are_no_card(owner: User, agent: Agent, times: int) -> None:
    for _ in range(times):
        session = fail(agent)
    assert (session.status, badge(owner)) == (Status.BACKING_OFF, 0)


def test_three_failures_in_a_row_are_a_card(as_owner: Client, owner: User, agent: Agent) -> None:
    for _ in range(3):
        session = fail(agent, error="Traceback: boom")
    assert (session.status, badge(owner)) == (Status.FAILING, 1)
    assert "Traceback: boom" in main_words(as_owner)


def test_what_was_given_up_is_a_card(owner: User, agent: Agent) -> None:
    session = fail(agent, give_up=True)
    assert (session.state, session.status, badge(owner)) == ("paused", Status.FAILING, 1)


def test_a_failure_that_its_caller_knows_is_none(owner: User, agent: Agent) -> None:
    session = fail(agent, give_up=True, caller_knows=True)
    assert (session.status, badge(owner)) == (Status.PAUSED, 0)


def test_it_is_counted_for_each_owner_and_nobody_else(
    as_colleague: Client, as_stranger: Client, colleague: User, stranger: User, agent: Agent
) -> None:
    fail(agent, cannot_start=True)
    assert (badge(colleague), badge(stranger)) == (1, 0)
    assert MISSING in main_words(as_colleague)
    assert MISSING not in main_words(as_stranger)


def test_many_failing_sessions_of_an_agent_are_one_card(owner: User, agent: Agent) -> None:
    fail(agent, cannot_start=True)
    home = world.home(agent)
    for number in range(3):
        Session.objects.create(
            agent=agent, title=str(number), failing_since=home.failing_since, error_streak=1
        )
    assert badge(owner) == 1
    (found,) = queries.failing_agents(owner)
    assert vars(found)["failing_count"] == 4


def test_it_stays_while_it_is_tried_again_and_leaves_with_a_success(
    as_owner: Client, owner: User, agent: Agent
) -> None:
    fail(agent, cannot_start=True)
    as_owner.post("/agents/ledger-close/retry")
    session = world.home(agent)
    assert (session.status, badge(owner)) == (Status.QUEUED, 1)
    assert "A new attempt is under way." in main_words(as_owner)
    world.turn(agent, outcome=Outcome.WORK_DONE)
    assert (world.home(agent).failing_since, badge(owner)) == (None, 0)
    assert MISSING not in main_words(as_owner)


def test_trying_again_resumes_what_was_given_up(
    as_owner: Client, as_stranger: Client, agent: Agent
) -> None:
    fail(agent, give_up=True)
    assert as_stranger.post("/agents/ledger-close/retry").status_code == 404
    assert world.home(agent).state == "paused"
    as_owner.post("/agents/ledger-close/retry")
    assert (world.home(agent).state, world.home(agent).status) == ("active", Status.QUEUED)


@pytest.mark.parametrize("how", ["pause", "retire", "stop"])
def test_a_person_ends_it(as_owner: Client, owner: User, agent: Agent, how: str) -> None:
    session = fail(agent, cannot_start=True)
    if how == "pause":
        as_owner.post("/agents/ledger-close/pause")
    elif how == "retire":
        retire_agent(agent_id=agent.pk, by=owner)
    else:
        controls.start_session(session_id=session.pk, by=owner)
        controls.stop_session(session_id=session.pk, by=owner)
    assert badge(owner) == 0
    assert MISSING not in main_words(as_owner)


def test_a_paused_agent_that_is_resumed_is_a_card_again(owner: User, agent: Agent) -> None:
    fail(agent, cannot_start=True)
    controls.pause_agent(agent_id=agent.pk, by=owner)
    assert (world.home(agent).status, badge(owner)) == (Status.PAUSED, 0)
    controls.resume_agent(agent_id=agent.pk, by=owner)
    assert badge(owner) == 1


def test_open_pages_are_told(owner: User, agent: Agent) -> None:
    before = queue_marks([owner.pk])
    fail(agent, cannot_start=True)
    assert queue_marks([owner.pk]) != before
    arrived = fragments.queue_changes(owner, frozenset())
    assert f'id="agent-{agent.pk}"' in arrived.html
    assert 'data-count="1"' in arrived.html
    assert fragments.queue_changes(owner, arrived.have).html == ""
    world.turn(agent, outcome=Outcome.WORK_DONE)
    left = fragments.queue_changes(owner, arrived.have)
    assert "It does not fail any more." in left.html
    assert left.have == frozenset()


def test_a_page_that_claims_a_strangers_card_learns_nothing(stranger: User, agent: Agent) -> None:
    fail(agent, cannot_start=True)
    held = frozenset({f"agent-{agent.pk}"})
    assert "ledger-close" not in fragments.queue_changes(stranger, held).html


def test_it_is_announced_once_and_measured(agent: Agent) -> None:
    from workspace.models import OutboxItem

    for _ in range(4):
        fail(agent, cannot_start=True)
    assert OutboxItem.objects.filter(kind="session.blocked").count() == 1
    assert b"needs_you_failing_agents 1.0" in metrics_text()


def test_the_error_is_shown_harmless(owner: User, agent: Agent) -> None:
    fail(agent, cannot_start=True, error="<script>alert(1)</script>\u202eevil")
    content = signed_in(owner).get("/").content.decode()
    assert "<script>alert(1)" not in content
    assert "\u202e" not in content
