"""A finished step is never a call that somebody's client could make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Run
from asks import answering
from asks.lifecycle import AskStatus
from tests.responses.answers import nothing_was_dispatched, refused
from tests.responses.world import (
    REQUEST,
    Caller,
    ask_of,
    asked,
    body,
    brain,
    carry_all,
    hybrid_agent,
    key_for,
    result,
    steps,
    words,
)
from workspace.protocols.responses.models import Response

pytestmark = pytest.mark.django_db

BASH = {"type": "function", "name": "bash", "parameters": {"type": "object", "properties": {}}}
STEP = """
print(json.dumps({"type": "step", "name": "bash", "arguments": {"command": "rm -rf build"}}))
print(json.dumps({"type": "step", "name": "bash", "arguments": {"command": "make"}}))
"""
ASKS = (
    STEP
    + """
if "# The answer" in prompt:
    print("Built.")
else:
    pathlib.Path("hitl_request.json").write_text(json.dumps(
        {"request_id": "x", "question": "Which?", "options": ["EU", "US"]}))
"""
)
FREE = """
if "# The answer" in prompt:
    print("Going on.")
else:
    pathlib.Path("hitl_request.json").write_text(json.dumps({"question": "Which?"}))
"""


@pytest.fixture
def builder(owner: User, tmp_path: Path) -> Caller:
    """A caller of an agent whose steps are named like a tool of the caller's."""
    return Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, STEP)), owner))


@pytest.fixture
def asker(owner: User, tmp_path: Path) -> Caller:
    return Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, ASKS)), owner))


def calls(response: dict[str, Any]) -> list[str]:
    return [item["name"] for item in response["output"] if item["type"] == "function_call"]


def summaries(response: dict[str, Any]) -> list[str]:
    found = [item for item in response["output"] if item["type"] == "reasoning"]
    return [part["text"] for item in found for part in item["summary"]]


def test_a_console_without_tools_sees_steps_as_calls(builder: Caller) -> None:
    assert steps(builder.create(REQUEST)) == ["bash", "bash"]
    assert steps(builder.create(REQUEST, tools=[])) == ["bash", "bash"]


@pytest.mark.parametrize("tool", [BASH, {"type": "function", "name": "other"}])
def test_a_caller_with_tools_sees_them_as_reasoning(builder: Caller, tool: Any) -> None:
    found = builder.create(REQUEST, tools=[tool])

    assert calls(found) == []
    assert summaries(found) == ['bash {"command":"rm -rf build"}', 'bash {"command":"make"}']


@pytest.mark.parametrize("tools", [[], [BASH]])
@pytest.mark.parametrize("wish", ["", "?steps=calls"])
def test_no_step_is_a_call_if_the_caller_wants_none(
    builder: Caller, tools: list[Any], wish: str
) -> None:
    found = builder.create(REQUEST, path=f"/v1/responses{wish}", tools=tools, tool_choice="none")

    assert calls(found) == []
    assert len(summaries(found)) == 2


def test_a_caller_with_tools_may_ask_for_calls(builder: Caller) -> None:
    found = builder.create(REQUEST, path="/v1/responses?steps=calls", tools=[BASH])

    assert calls(found) == ["bash", "bash"]


def test_any_caller_may_ask_for_reasoning(builder: Caller) -> None:
    found = builder.create(REQUEST, path="/v1/responses?steps=reasoning")

    assert (calls(found), len(summaries(found))) == ([], 2)


def test_another_wish_is_refused(builder: Caller) -> None:
    no = refused(lambda: builder.send(path="/v1/responses?steps=loud", input="x"))

    assert (no.status, no.param) == (400, "steps")


def test_a_caller_that_replays_calls_of_its_own_has_tools(builder: Caller) -> None:
    """It need not declare them again."""
    history = [
        {"role": "user", "content": "Look around."},
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
        result("c1", "nothing here"),
        {"role": "user", "content": "Go on."},
    ]

    assert calls(builder.create(input=history)) == []


@pytest.mark.parametrize("who", ["the caller", "the owner on the page"])
def test_the_turn_after_an_answer_shows_steps_like_the_one_before(
    asker: Caller, owner: User, who: str
) -> None:
    paused = asker.create(REQUEST, tools=[BASH])
    assert calls(paused) == ["request_info"]

    if who == "the caller":
        done = asker.answer(paused, "EU")
    else:
        ask = ask_of(paused)
        answering.answer_ask(ask_id=ask.pk, by=owner, option=ask.options.get(label="EU").key)
        carry_all()
        done = body(Response.objects.get(answers=ask).public_id)

    assert calls(done) == []
    assert len(summaries(done)) == 2


def test_the_next_turn_of_a_conversation_shows_steps_like_the_one_before(builder: Caller) -> None:
    first = builder.create(REQUEST, tools=[BASH])

    assert calls(builder.create("Go on.", previous_response_id=first["id"])) == []


def test_tools_that_come_later_count(builder: Caller) -> None:
    first = builder.create(REQUEST)

    found = builder.create("Go on.", previous_response_id=first["id"], tools=[BASH])

    assert calls(found) == []


@pytest.mark.parametrize("name", ["request_info", "request_approval"])
def test_a_step_is_never_taken_for_a_question(owner: User, tmp_path: Path, name: str) -> None:
    """Consoles know a question by its name alone."""
    script = f'print(json.dumps({{"type": "step", "name": "{name}", "arguments": {{}}}}))'
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))

    assert calls(caller.create(REQUEST)) == [f"step_{name}"]


TRANSCRIPT = [
    {"role": "user", "content": "Build it."},
    {"type": "function_call", "call_id": "bash", "name": "bash", "arguments": "{}"},
    result("bash", "built"),
]


@pytest.mark.parametrize(
    "items",
    [
        TRANSCRIPT,
        TRANSCRIPT[:2],
        TRANSCRIPT[2:],
        [TRANSCRIPT[0], TRANSCRIPT[2]],
        [*TRANSCRIPT, {"type": "reasoning", "summary": []}],
        [*TRANSCRIPT, {"role": "assistant", "content": "Built."}],
        [*TRANSCRIPT, {"role": "developer", "content": "Be brief."}],
        [*TRANSCRIPT, {**TRANSCRIPT[1], "call_id": "two"}, result("two", "built")],
        [TRANSCRIPT[0], {"type": "reasoning", "summary": []}],
        [TRANSCRIPT[0], {"role": "assistant", "content": "Built."}],
    ],
)
@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_result_of_what_nobody_called_starts_nothing(
    builder: Caller, items: list[Any], chained: bool, stream: bool
) -> None:
    first = builder.create(REQUEST, tools=[BASH])
    count, runs = Response.objects.count(), Run.objects.count()
    more = {"previous_response_id": first["id"]} if chained else {}

    no = refused(lambda: builder.send(input=items, tools=[BASH], stream=stream, **more))

    assert (no.status, no.param) == (400, "input")
    assert nothing_was_dispatched(count)
    assert Run.objects.count() == runs


def test_a_conversation_without_a_new_request_starts_nothing(builder: Caller) -> None:
    """A client sends back what it got, as it is or by its ids, with nothing new."""
    first = builder.create(REQUEST, tools=[BASH])
    count = Response.objects.count()
    sent = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]

    for items in (sent, first["output"]):
        no = refused(lambda items=items: builder.send(input=[TRANSCRIPT[0], *items]))
        assert (no.status, no.param) == (400, "input")
    assert nothing_was_dispatched(count)
    more = {"role": "user", "content": "Go on."}
    assert builder.create(input=[TRANSCRIPT[0], *sent, more])["status"] == "completed"


def test_an_answer_with_a_stray_result_after_it_is_refused_whole(asker: Caller) -> None:
    paused = asker.create(REQUEST)
    answer = result(asked(paused)["call_id"], "EU")
    count = Response.objects.count()

    no = refused(
        lambda: asker.send(previous_response_id=paused["id"], input=[answer, result("bash", "x")])
    )

    assert (no.status, no.param) == (400, "input")
    assert nothing_was_dispatched(count)
    assert ask_of(paused).status == AskStatus.OPEN
    done = asker.create(previous_response_id=paused["id"], input=[result("bash", "x"), answer])
    assert "Built." in words(done)


def test_two_answers_to_one_question_are_none(asker: Caller) -> None:
    paused = asker.create(REQUEST)
    call_id = asked(paused)["call_id"]

    no = refused(
        lambda: asker.send(
            previous_response_id=paused["id"], input=[result(call_id, "EU"), result(call_id, "US")]
        )
    )

    assert (no.status, no.param) == (400, "input")
    assert ask_of(paused).status == AskStatus.OPEN


def test_what_a_loop_of_tools_sends_back_is_not_the_owners_word(
    owner: User, tmp_path: Path
) -> None:
    """Such a loop answers a function that it does not know with an error of its own."""
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, FREE)), owner))
    paused = caller.create(REQUEST, tools=[BASH])

    no = refused(lambda: caller.answer(paused, "Error: no tool request_info", tools=[BASH]))

    assert (no.status, no.code, no.param) == (400, "undeclared_function", "tools")
    assert ask_of(paused).status == AskStatus.OPEN
    declared = [BASH, {"type": "function", "name": "request_info"}]
    assert "Going on." in words(caller.answer(paused, "the Swiss one", tools=declared))


def test_a_question_is_no_call_either_if_the_caller_wants_none(asker: Caller) -> None:
    paused = asker.create(REQUEST, tool_choice="none")

    assert calls(paused) == []
    assert "Which?" in words(paused)
    assert "- EU" in words(paused)
    (named,) = paused["envelope"]["questions"]
    done = asker.create(previous_response_id=paused["id"], input=[result(named["call_id"], "EU")])
    assert done["envelope"]["status"] == "ok"
