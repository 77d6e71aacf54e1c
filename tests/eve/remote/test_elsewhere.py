"""Somebody answers at the agent's own side while its question waits here."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.lifecycle import Outcome, Status
from agents.models import Event, Session
from asks.models import Ask, Verdict
from tests.eve.remote.double import Double, Handler
from tests.eve.remote.world import CALL, PARAMS, agent_at, asked, decide, drive, say, told
from tests.pages.html import read
from workspace.protocols.eve.client import watching

pytestmark = pytest.mark.django_db(transaction=True)


def elsewhere(double: Double, option: str = "approve") -> None:
    """Somebody answers all that waits, on the agent's own side."""
    waits = list(double.session.open)
    double.session.answer([{"requestId": name, "optionId": option} for name in waits])


def fails(handler: Handler) -> bool:
    handler.reply(500, {})
    return True


def look(monkeypatch: pytest.MonkeyPatch) -> int:
    """A round of looking at once."""
    monkeypatch.setattr(
        watching,
        "_looked",
        dict.fromkeys(Session.objects.values_list("pk", flat=True), -1000000000.0),
    )
    return watching.watch_sessions()


def test_the_ask_is_withdrawn_in_words_and_the_session_reads_on(
    double: Double, owner: User, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    assert look(monkeypatch) == 0
    elsewhere(double)
    assert look(monkeypatch) == 1
    ask.refresh_from_db()
    assert (ask.status, ask.closed_by) == ("withdrawn", None)
    assert ask.close_reason.startswith("Answered at the agent's own side: ")
    (ended,) = drive()
    assert (ended.outcome, ended.report) == (Outcome.WORK_DONE, "refunded")
    assert len(double.posts) == 1, "nothing was sent"
    assert not Verdict.objects.exists()
    client.force_login(owner)
    shown = read(client.get(f"/asks/{ask.pk}/").content).one("article", id=f"ask-{ask.pk}").words
    assert "Answered at the agent's own side" in shown
    assert "took the question back" not in shown


def test_what_is_asked_next_over_there_is_asked_here(
    double: Double, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    elsewhere(double)
    double.session.hear('call refund {"charge": "ch_2"}')
    assert look(monkeypatch) == 1
    drive()
    assert asked(session).gate.params == {"charge": "ch_2"}


def test_an_answer_given_here_too_late_is_not_sent_and_said(double: Double, owner: User) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    elsewhere(double)
    (ended,) = decide(ask, owner)
    assert len(double.posts) == 1
    assert double.session.ran == [PARAMS]
    assert ended.report == "refunded"
    (ignored,) = Event.objects.filter(session=session, kind="ignored")
    assert "it was answered there already" in ignored.data["why"]


def test_a_server_that_is_away_or_forgot_withdraws_nothing(
    double: Double, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    double.sessions.clear()
    assert look(monkeypatch) == 0
    double.faults = [fails]
    assert look(monkeypatch) == 0
    assert Ask.objects.get(session=session).status == "open"


def test_each_is_looked_at_as_often_as_its_settings_say(double: Double, owner: User) -> None:
    say(agent_at(double, owner, watch_seconds=3600), owner, CALL)
    elsewhere(double)
    before = len(double.requests)
    assert [watching.watch_sessions(), watching.watch_sessions()] == [0, 0]
    assert len(double.requests) == before


@pytest.mark.parametrize("double", ["seed"], indirect=True)
def test_what_the_old_era_ignored_is_over(double: Double, owner: User) -> None:
    """A message over there lets what waited go, in the old era; nothing was approved."""
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    double.session.hear("never mind")
    decide(ask, owner)
    assert double.session.ran == []
    assert "never mind" in told(session)
    assert Session.objects.get(pk=session.pk).status != Status.WAITING_HUMAN
