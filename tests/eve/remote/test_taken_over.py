"""A worker dies in the middle of a turn with a remote eve agent, and another takes it over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import claims, messages, settlement
from agents.models import Run
from agents.running.runtime import Ended, Turn
from tests.eve.remote.double import Double
from tests.eve.remote.world import CALL, PARAMS, agent_at, asked, say, start, told
from tests.factories import verdict_on
from tests.responses.world import claimed, in_this_thread, play
from workspace.protocols.eve.client.memory import PLACE
from workspace.protocols.eve.client.runtime import RemoteEveRuntime

pytestmark = pytest.mark.django_db


def carried(turn: Turn) -> Ended:
    ended = play(turn, RemoteEveRuntime(read=in_this_thread))[-1]
    assert isinstance(ended, Ended)
    return ended


def while_sending(turn: Turn, said: str) -> Turn:
    """The turn as the next worker gets it: the first died when it was about to send, or had sent."""
    left: dict[str, Any] = {PLACE: {**turn.session_data[PLACE], "sending": said}}
    return replace(turn, left_behind=left)


def test_a_worker_that_dies_while_it_follows_loses_nothing_and_repeats_nothing(
    double: Double, owner: User
) -> None:
    """Another worker takes the run over and reads the stream on; nothing is sent again."""
    session = say(agent_at(double, owner), owner, CALL)
    verdict = asked(session)
    verdict_on(verdict, owner)
    turn = claimed()
    assert turn is not None
    play(turn, RemoteEveRuntime(read=in_this_thread))
    assert double.session.ran == [PARAMS]
    Run.objects.filter(pk=turn.run_id).update(lease_until="2020-01-01T00:00:00Z")
    again = claims.claim_run(run_id=turn.run_id, worker="another")
    assert again is not None
    ended = play(again, RemoteEveRuntime(read=in_this_thread))[-1]
    assert isinstance(ended, Ended)
    assert ended.report == "refunded"
    assert double.session.ran == [PARAMS]
    assert len(double.posts) == 2
    assert told(session) == "refunded"


@pytest.mark.parametrize("arrived", [True, False])
def test_an_answer_that_it_was_sending_decides_once(
    double: Double, owner: User, arrived: bool
) -> None:
    session = say(agent_at(double, owner), owner, CALL)
    ask = asked(session)
    verdict_on(ask, owner)
    turn = claimed()
    assert turn is not None
    if arrived:
        double.session.answer([{"requestId": ask.request_key, "optionId": "approve"}])
    ended = carried(while_sending(turn, "“Approve”"))
    assert ended.report == "refunded"
    assert double.session.ran == [PARAMS]
    assert len(double.posts) == (1 if arrived else 2)


def test_words_that_it_was_sending_and_that_arrived_are_not_said_again(
    double: Double, owner: User
) -> None:
    agent = agent_at(double, owner)
    session = start(agent, owner)
    messages.post_message(session_id=session.pk, by=owner, text="once")
    turn = claimed()
    assert turn is not None
    double.session.hear("once")
    assert carried(while_sending(turn, "your message")).report == "echo: once"
    assert [post["message"] for post in double.posts] == ["hello"]


def test_words_of_which_nobody_knows_are_left_to_the_owner(double: Double, owner: User) -> None:
    agent = agent_at(double, owner)
    session = start(agent, owner)
    messages.post_message(session_id=session.pk, by=owner, text="once")
    turn = claimed()
    assert turn is not None
    ended = carried(while_sending(turn, "your message"))
    assert settlement.settle_run(turn.fence, ended)
    assert "We don't know whether the agent received your message." in asked(session).prompt
    assert len(double.posts) == 1
