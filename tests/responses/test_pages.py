"""What the owner sees of a hybrid agent: the request on the card, and what the chain of turns costs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent, Session
from tests.factories import begin, finish, home_of
from tests.pages.html import read
from tests.responses.world import Caller, ask_of, body, carry_all, row, words
from workspace.pages.run_chain import chain_of
from workspace.protocols.responses.models import Response

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(owner: User) -> Client:
    client = Client()
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


def card(signed_in: Client, response: dict[str, object]) -> str:
    return signed_in.get(f"/asks/{ask_of(response).pk}/").content.decode()


def test_the_card_shows_the_request_the_question_and_the_options(
    caller: Caller, signed_in: Client
) -> None:
    page = read(card(signed_in, caller.ask()))

    shown = page.one("article").words
    assert "Which ledger: EU or US?" in shown
    assert "What the run was asked to do" in shown
    facts = page.one("article").one("dl", **{"class": "facts"})
    names, values = facts.all("dt"), facts.all("dd")
    told = {name.words: value.words for name, value in zip(names, values, strict=True)}
    assert told == {
        "mode": "run",
        "target_date": "2026-10-16",
        "dry_run": "false",
        "scenario": "ask",
    }
    labels = [button.words for button in page.one("article").all("button")]
    assert "EU" in " ".join(labels)
    assert "US" in " ".join(labels)


def test_a_confidential_card_shows_no_request(caller: Caller, signed_in: Client) -> None:
    page = card(signed_in, caller.ask(confidential=True))

    assert "2026-10-16" not in page
    assert "asked to do" not in page


def test_a_click_resumes_the_run(caller: Caller, signed_in: Client) -> None:
    paused = caller.ask()
    ask = ask_of(paused)
    option = ask.options.get(label="US")

    sent = signed_in.post(f"/asks/{ask.pk}/answer", {"option": option.key})
    carry_all()

    assert sent.status_code == 302
    child = Response.objects.get(answers=ask)
    assert "Reconciled US for 2026-10-16" in words(body(child.public_id))


@pytest.mark.case("responses-C44")
def test_the_session_shows_what_the_chain_cost_and_may_come_to(
    caller: Caller, signed_in: Client
) -> None:
    paused = caller.ask("ask_twice")
    session = row(paused).session
    one = read(signed_in.get(f"/sessions/{session.pk}/").content).one("details", id="run-chain")
    assert "1 turn, 0.40 USD in all. 0.50 USD is the most for one turn" in one.words

    caller.answer(caller.answer(paused, "EU"), "yes")

    chain = read(signed_in.get(f"/sessions/{session.pk}/").content).one("details", id="run-chain")
    assert (
        "3 turns, 1.20 USD in all. They may come to 1.50 USD: 0.50 USD is the most for each"
        in chain.words
    )
    assert [turn.words for turn in chain.all("dt")] == ["Run 3", "Run 2", "Run 1"]


@pytest.mark.case("responses-C44")
def test_a_chain_begins_anew_with_the_next_piece_of_work(caller: Caller) -> None:
    first = caller.create("hello")
    caller.create(previous_response_id=first["id"], input="again")

    chain = chain_of(row(first).session)

    assert chain is not None
    assert [turn.number for turn in chain.turns] == [2]


def test_a_session_that_tells_no_cost_shows_none(agent: Agent, signed_in: Client) -> None:
    home: Session = home_of(agent)
    finish(begin(home))

    assert chain_of(home) is None
    assert "run-chain" not in signed_in.get(f"/sessions/{home.pk}/").content.decode()


def test_the_thread_shows_steps_words_and_the_answer(caller: Caller, signed_in: Client) -> None:
    paused = caller.ask()
    done = caller.answer(paused, "EU")

    thread = read(signed_in.get(f"/sessions/{row(done).session_id}/").content).one(
        "ol", id="stream"
    )

    shown = thread.words
    for part in (
        "load_ledger",
        "reconcile",
        "Which ledger: EU or US?",
        "answered EU",
        "Reconciled EU",
    ):
        assert part in shown
