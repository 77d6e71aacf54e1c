"""What becomes of a question on the wire, whatever is sent for it; §4 of the protocol's own table."""

from __future__ import annotations

import pytest

from tests.eve.server.world import (
    LEDGERS,
    NAME,
    REFUND,
    Caller,
    Talk,
    of,
    outcomes,
    refused,
    results,
    types,
)
from workspace.protocols.eve.errors import EveProblem

pytestmark = pytest.mark.django_db


def last_words(talk: Talk) -> str:
    return str(of(talk.events(), "message.completed")[-1]["message"])


def response_of(told: list[dict[str, object]]) -> object:
    return of(told, "input.resolved")[-1]["resolutions"][0]["response"]


def test_a_question_with_options_is_a_select(caller: Caller) -> None:
    [request] = caller.open(LEDGERS).open_requests()

    assert (request["kind"], request["display"]) == ("question", "select")
    assert request["options"] == [{"id": "eu", "label": "EU"}, {"id": "us", "label": "US"}]
    assert request["action"]["toolName"] == "ask_question"
    assert request["requestId"] == request["action"]["callId"]
    assert request["allowFreeform"] is False


def test_a_question_for_words_is_a_text(caller: Caller) -> None:
    [request] = caller.open(NAME).open_requests()

    assert (request["display"], request["allowFreeform"]) == ("text", True)
    assert "options" not in request


def test_an_answer_by_option(caller: Caller) -> None:
    talk = caller.open(LEDGERS)
    told = talk.choose("us")

    assert outcomes(told) == ["answered"]
    assert of(told, "turn.started")[0]["turnId"] == "turn_1"
    assert '"optionId": "us"' in last_words(talk)


@pytest.mark.parametrize(
    ("typed", "option"), [("us", "us"), (" Us ", "us"), ("US", "us"), ("2", "us"), ("1", "eu")]
)
def test_a_message_that_is_an_options_id_label_or_place(
    caller: Caller, typed: str, option: str
) -> None:
    talk = caller.open(LEDGERS)
    told = talk.say(typed)

    request = of(talk.events(), "input.requested")[0]["requests"][0]
    assert response_of(told) == {"requestId": request["requestId"], "optionId": option}


@pytest.mark.parametrize("typed", ["mars", "3", "0", "-1", "1.0", "EU or US?", "²"])
def test_a_message_that_is_no_option_is_a_message(caller: Caller, typed: str) -> None:
    told = caller.open(LEDGERS).say(typed)

    assert outcomes(told) == ["ignored"]
    assert of(told, "message.received")[0]["message"] == typed


def test_free_words_answer_where_they_are_asked_for(caller: Caller) -> None:
    talk = caller.open(NAME)
    told = talk.say("Alice")

    assert outcomes(told) == ["answered"]
    assert "Alice" in last_words(talk)


def test_free_words_as_a_structured_answer(caller: Caller) -> None:
    talk = caller.open(NAME)
    talk.answer({"requestId": talk.open_requests()[0]["requestId"], "text": "Bob"})

    assert "Bob" in last_words(talk)


@pytest.mark.case("C14")
@pytest.mark.parametrize(
    ("asked", "response", "code"),
    [
        (LEDGERS, {"optionId": "mars"}, "unknown_option"),
        (LEDGERS, {"optionId": "EU"}, "unknown_option"),
        (LEDGERS, {"text": "mars"}, "empty_answer"),
        (LEDGERS, {}, "empty_answer"),
        (NAME, {}, "empty_answer"),
        (NAME, {"text": ""}, "empty_answer"),
        (NAME, {"text": " \u200b\n"}, "empty_answer"),
        (NAME, {"optionId": "x"}, "unknown_option"),
    ],
)
def test_what_was_not_offered_is_refused_and_leaves_it_open(
    caller: Caller, asked: str, response: dict[str, str], code: str
) -> None:
    """Elsewhere each of these counts as answered."""
    talk = caller.open(asked)
    [request] = talk.open_requests()

    with pytest.raises(EveProblem) as problem:
        talk.answer({"requestId": request["requestId"], **response})

    assert refused(problem.value) == (422, code)
    assert talk.open_requests() == [request]


@pytest.mark.case("C18")
def test_each_question_of_several_has_its_own_state(caller: Caller) -> None:
    talk = caller.open(f"{LEDGERS}; {NAME}")
    ledgers, name = talk.open_requests()
    [event] = of(talk.events(), "input.requested")
    assert len(event["requests"]) == 2

    told = talk.answer({"requestId": ledgers["requestId"], "optionId": "eu"})
    assert types(told) == ["input.resolved", "session.waiting"]
    assert talk.open_requests() == [name]

    told = talk.answer({"requestId": name["requestId"], "text": "Bob"})
    assert [r["requestId"] for r in of(told, "input.resolved")[0]["resolutions"]] == [
        name["requestId"]
    ]
    assert "eu" in last_words(talk)
    assert "Bob" in last_words(talk)


def test_a_question_and_an_approval_are_asked_in_one_park(caller: Caller) -> None:
    talk = caller.open(f"{REFUND}; {NAME}")
    [event] = of(talk.events(), "input.requested")
    assert sorted(request["kind"] for request in event["requests"]) == ["question", "tool-approval"]
    assert talk.types().count("session.waiting") == 1


def test_words_for_the_question_leave_the_approval_open(caller: Caller) -> None:
    talk = caller.open(f"{REFUND}; {NAME}")
    talk.say("Alice")

    [request] = talk.open_requests()
    assert request["kind"] == "tool-approval"
    assert results(talk.events()) == []


def test_an_approval_beside_a_question_is_answered_by_its_id_only(caller: Caller) -> None:
    talk = caller.open(f"{REFUND}; {NAME}")

    with pytest.raises(EveProblem) as problem:
        talk.say("approve")

    assert refused(problem.value) == (409, "ambiguous_answer")
    assert len(talk.open_requests()) == 2


def test_a_question_that_is_no_question_reaches_nobody(caller: Caller) -> None:
    talk = caller.open("ask {}")

    assert not talk.open_requests()
    assert not talk.asks()
