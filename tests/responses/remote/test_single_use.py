"""A question is answered once, also where the server would take a second answer and act on it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from tests.responses.remote.acts import DONE, ask_of, decide, told
from tests.responses.remotes import Json, Remote, call, question, response, start, tells

pytestmark = pytest.mark.django_db


def asking(words: str, name: str) -> Json:
    """A paused response whose question has no call_id of its own: each of them has its item's name."""
    event = {"type": "request_info", "data": {"question": words}}
    return response(call("request_info", "request_info", {"request_event": event}), name=name)


@pytest.mark.case("responses-C15", "responses-C32")
def test_a_question_that_is_repeated_after_its_answer_is_not_answered_again(
    agent: Agent, owner: User, remote: Remote
) -> None:
    """A host that runs a second effect for a second answer gets one answer for one question."""
    session = start(agent, owner)
    remote.then(tells(response(question(), name="resp_2")))

    decide(session, owner, "EU")

    assert len(remote.posts) == 2
    assert not Ask.objects.filter(session=session, status=AskStatus.OPEN).exists()
    assert told(session, "ignored") == ["Which ledger?"]
    session.refresh_from_db()
    assert session.data["remote"]["pending"] == {}


@pytest.mark.case("responses-C14", "responses-C15")
def test_other_words_under_the_same_call_id_are_another_question(
    agent: Agent, owner: User, remote: Remote
) -> None:
    remote.then(tells(asking("Which ledger?", "resp_1")))
    session = start(agent, owner)
    for number, words in ((2, "Which month?"), (3, "Publish?")):
        remote.then(tells(asking(words, f"resp_{number}")))
        decide(session, owner, text=f"answer {number - 1}")
        assert ask_of(session).prompt == words
    remote.then(tells(DONE))
    decide(session, owner, text="answer 3")

    answers = [one.body for one in remote.posts[1:]]
    assert [body["previous_response_id"] for body in answers] == ["resp_1", "resp_2", "resp_3"]
    outputs = [item for body in answers for item in body["input"]]
    assert [one["output"] for one in outputs] == ["answer 1", "answer 2", "answer 3"]
    assert {one["call_id"] for one in outputs} == {"request_info"}
    keys = Ask.objects.filter(session=session).order_by("pk").values_list("request_key", flat=True)
    assert list(keys) == ["request_info", "request_info#2", "request_info#3"]
    assert Verdict.objects.count() == 3
    assert told(session, "summary") == ["Closed October."]
    assert told(session, "ignored") == []
