"""Who may vote on a question reads the thread up to it, and can do nothing else with its session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agents.db.expressions import database_now
from agents.events.log import record_event
from agents.locking import lock_session
from agents.models import Agent, Event, Session
from asks import delegation
from asks.answering import answer_ask
from asks.models import Ask
from tests.factories import UserFactory, echo_of
from tests.pages.html import read
from tests.policies.test_cards import signed_in
from tests.policies.world import asked, group_of, in_force, refund
from workspace.live import access_checks

pytestmark = pytest.mark.django_db

#: Every verb and every other view of a session and of its agent: method, address and fields.
CLOSED: list[tuple[str, str, dict[str, Any]]] = [
    ("post", "/sessions/{session}/message", {"text": "Stop that."}),
    ("post", "/sessions/{session}/start", {}),
    ("post", "/sessions/{session}/stop", {}),
    ("post", "/sessions/{session}/resume", {}),
    ("get", "/sessions/{session}/events?after=0", {}),
    ("get", "/sessions/{session}/changes?have=", {}),
    ("post", "/given-up/{session}/retry", {}),
    *(
        ("post", f"/agents/{{slug}}/{verb}", {})
        for verb in ("start", "pause", "resume", "retire", "restore", "retry")
    ),
    *(("get", f"/agents/{{slug}}/{view}", {}) for view in ("edit", "owners", "told")),
]


@pytest.fixture
def voter(stranger: User, agent: Agent) -> User:
    group_of("finance", stranger, UserFactory(username="mo"))
    in_force(agent, refund(answered_by="group:finance", quorum=2))
    return stranger


def say(session: Session, text: str) -> None:
    with transaction.atomic():
        record_event(lock_session(session.pk), "report", actor="agent:ledger", text=text)


@pytest.fixture
def ask(voter: User, session: Session) -> Ask:
    say(session, "What came before.")
    found = asked(session)
    say(session, "What came after.")
    return found


def test_a_voter_reads_the_thread_up_to_the_question(voter: User, ask: Ask) -> None:
    client = signed_in(voter)
    for path in (f"/sessions/{ask.session_id}/", f"/sessions/{ask.session_id}/pane", "/"):
        words = read(client.get(path).content).words
        assert "What came before." in words, path
        assert "What came after." not in words, path


def test_nothing_on_the_page_acts_or_follows(voter: User, ask: Ask) -> None:
    page = read(signed_in(voter).get(f"/sessions/{ask.session_id}/").content).one("main")
    card = page.one("article", id=f"ask-{ask.pk}")
    assert len(page.all("form")) == len(card.all("form"))
    assert page.one("div", id="thread").attrs.keys() == {"class", "id"}


def test_every_link_of_the_card_opens(voter: User, ask: Ask) -> None:
    client = signed_in(voter)
    card = read(client.get("/").content).one("article", id=f"ask-{ask.pk}")
    links = {str(link.attrs["href"]) for link in card.all("a")}
    assert f"/sessions/{ask.session_id}/" in links
    for href in links:
        assert client.get(href, follow=True).status_code == 200, href


@pytest.mark.parametrize("before", ["", "?before=9999", "?before=1000000000"])
def test_no_address_of_the_thread_reads_on(voter: User, ask: Ask, before: str) -> None:
    page = signed_in(voter).get(f"/sessions/{ask.session_id}/{before}")
    assert "What came after." not in page.content.decode()


@pytest.mark.parametrize(("method", "path", "fields"), CLOSED, ids=str)
def test_a_voter_does_nothing_else(
    voter: User, ask: Ask, method: str, path: str, fields: dict[str, Any]
) -> None:
    rows = list(Event.objects.values())
    session = Session.objects.values().get(pk=ask.session_id)
    address = path.format(session=ask.session_id, slug=ask.agent.slug)
    sent = getattr(signed_in(voter), method)(address, fields)
    assert sent.status_code in (403, 404)
    assert list(Event.objects.values()) == rows
    assert Session.objects.values().get(pk=ask.session_id) == session


def test_no_socket_follows_for_a_voter(voter: User, ask: Ask) -> None:
    assert access_checks.last_seq_seen_by(voter, ask.session_id) is None
    assert access_checks.sessions_seen_by(voter, [ask.session_id]) == set()


def test_it_stays_readable_once_the_question_is_decided(voter: User, ask: Ask) -> None:
    for person in (voter, User.objects.get(username="mo")):
        answer_ask(ask_id=ask.pk, by=person, option="approve", echo=echo_of(ask))
    page = signed_in(voter).get(f"/sessions/{ask.session_id}/")
    assert page.status_code == 200
    assert "What came after." not in page.content.decode()


def test_a_delegate_reads_it_too_while_the_delegation_lasts(
    agent: Agent, session: Session, owner: User, stranger: User
) -> None:
    say(session, "What came before.")
    ask = asked(session)
    client = signed_in(stranger)
    assert client.get(f"/sessions/{ask.session_id}/").status_code == 404
    given = delegation.create_delegation(
        by=owner, to=stranger, ends_at=database_now() + timedelta(hours=1), reason="Away."
    )
    assert "What came before." in client.get(f"/sessions/{ask.session_id}/").content.decode()
    delegation.revoke_delegation(delegation_id=given.pk, by=owner)
    assert client.get(f"/sessions/{ask.session_id}/").status_code == 404


def test_a_stranger_reads_nothing(ask: Ask) -> None:
    client: Client = signed_in(UserFactory(username="eve"))
    for path in (f"/sessions/{ask.session_id}/", f"/sessions/{ask.session_id}/pane"):
        assert client.get(path).status_code == 404
    assert client.get(f"/agents/{ask.agent.slug}/").status_code == 404
