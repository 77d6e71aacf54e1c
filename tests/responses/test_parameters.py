"""What becomes of each part of a request: the documented table, and that it is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from asks import answering
from tests.responses.answers import nothing_was_dispatched, refused
from tests.responses.world import (
    REQUEST,
    Caller,
    ask_of,
    body,
    brain,
    carry_all,
    events,
    hybrid_agent,
    key_for,
    question,
    result,
    words,
)
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server.input_items import ITEM_HANDLING, PART_HANDLING
from workspace.protocols.responses.server.parameters import HANDLING, Handling

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).parents[2] / "docs" / "responses.md"
_ROW = re.compile(r"^\| (?:(item|part) )?`([a-z_]+)` \| ([a-z ]+) \|", re.MULTILINE)
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
FILE = {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64,YTti"}
#: A value for each field that is ignored or refused, as real clients send it.
VALUES: dict[str, Any] = {
    "frequency_penalty": 0.5,
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 100,
    "max_tool_calls": 3,
    "parallel_tool_calls": False,
    "presence_penalty": 0.5,
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "reasoning": {"effort": "low"},
    "safety_identifier": "s",
    "service_tier": "auto",
    "stream_options": {"include_obfuscation": False},
    "temperature": 0.2,
    "top_logprobs": 2,
    "top_p": 0.5,
    "context_management": [{"type": "compaction"}],
    "conversation": "conv_1",
    "prompt": {"id": "pmpt_1"},
}


def named(handling: Handling) -> list[str]:
    return sorted(name for name, found in HANDLING.items() if found == handling)


@pytest.fixture
def echo(owner: User, tmp_path: Path) -> Caller:
    """A caller of an agent that repeats its whole prompt."""
    return Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, "print(prompt)")), owner))


def test_the_documented_table_is_the_codes() -> None:
    rows = {(kind, name): how for kind, name, how in _ROW.findall(DOCS.read_text())}

    contract = {("", name): handling for name, handling in HANDLING.items()} | {
        ("item", name): handling for name, handling in ITEM_HANDLING.items()
    }
    contract |= {("part", name): handling for name, handling in PART_HANDLING.items()}
    assert rows == {key: str(handling) for key, handling in contract.items()}


@pytest.mark.parametrize("name", named(Handling.IGNORED))
def test_what_is_ignored_is_listed(caller: Caller, name: str) -> None:
    found = caller.create("hello", **{name: VALUES[name]})

    assert found["envelope"]["ignored"] == [name]
    assert caller.create("hello", **{name: None})["envelope"]["ignored"] == []


def test_a_field_that_nobody_knows_is_listed_too(caller: Caller) -> None:
    found = caller.send(input="hello", a_new_knob=1, text={"verbosity": "low"})

    assert found["envelope"]["ignored"] == ["a_new_knob", "text.verbosity"]


@pytest.mark.parametrize(
    ("name", "value", "param"),
    [
        *((name, VALUES[name], name) for name in named(Handling.REFUSED)),
        ("store", False, "store"),
        ("truncation", "disabled", "truncation"),
        ("tool_choice", "required", "tool_choice"),
        ("tool_choice", {"type": "function", "name": "bash"}, "tool_choice"),
        ("tool_choice", {"type": "allowed_tools", "mode": "auto", "tools": []}, "tool_choice"),
        ("text", {"format": {"type": "json_object"}}, "text.format"),
        ("text", {"format": {"type": "json_schema", "name": "x", "schema": {}}}, "text.format"),
        ("text", "json", "text.format"),
        ("tools", [{"type": "web_search"}], "tools"),
        ("tools", [{"type": "mcp", "server_label": "other", "server_url": "https://x"}], "tools"),
        ("tools", [{"type": "custom", "name": "x"}], "tools"),
        ("input", [{"type": "web_search_call", "id": "ws_1"}], "input"),
        ("input", [{"type": "compaction", "encrypted_content": "x"}], "input"),
        ("input", [{"role": "user", "content": [{"type": "input_audio", "data": "x"}]}], "input"),
        (
            "input",
            [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}],
            "input",
        ),
    ],
)
def test_what_is_not_kept_is_refused(caller: Caller, name: str, value: Any, param: str) -> None:
    count = Response.objects.count()

    no = refused(lambda: caller.send(**{"input": "hello", name: value}))

    assert (no.status, no.code, no.param) == (400, "unsupported_parameter", param)
    assert nothing_was_dispatched(count)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function"},
        {"type": "function", "name": ""},
        {"type": "function", "name": "a b"},
        {"type": "function", "name": "f", "strict": "yes"},
        {"type": "function", "name": "f", "parameters": []},
        {"type": "function", "name": "f", "description": 7},
        {"type": "function", "function": {"name": "f"}},
    ],
)
def test_a_tool_that_is_none_is_refused(caller: Caller, tool: Any) -> None:
    no = refused(lambda: caller.send(input="hello", tools=[tool]))

    assert (no.status, no.param) == (400, "tools")


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "name": "f"},
        {"type": "function", "name": "f", "description": "d", "defer_loading": True},
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True},
    ],
)
def test_a_tool_is_repeated_with_every_field(caller: Caller, tool: Any) -> None:
    found = caller.create("hello", tools=[tool])

    (repeated,) = found["tools"]
    assert set(repeated) == {"type", "name", "description", "parameters", "strict"}
    assert repeated["name"] == "f"
    assert repeated["strict"] == tool.get("strict")
    assert all(event["response"]["tools"] == [repeated] for event in events(found)[:2])


def test_the_model_is_the_agent_that_served(caller: Caller, owner: User) -> None:
    assert caller.create("hello", model="gpt-9")["model"] == "closer"
    assert caller.create("hello")["model"] == "closer"
    hybrid_agent(owner, "other")
    both = Caller(key_for(None, owner, name="both"))

    assert both.create("hello", model="other")["model"] == "other"
    assert refused(lambda: both.send(input="hello", model="gpt-9")).param == "model"


@pytest.mark.parametrize("count", [0, 13, 14, 15, 16])
def test_metadata_stays_within_the_protocol(caller: Caller, count: int) -> None:
    """The schema check allows sixteen pairs. The caller's are all kept."""
    pairs = {f"k{n}": "v" for n in range(count)}

    found = caller.create("hello", metadata=pairs)

    assert pairs.items() <= found["metadata"].items()
    assert ("envelope_status" in found["metadata"]) == (count <= 14)


@pytest.mark.parametrize("name", ["envelope_status", "hitl_paused"])
def test_metadata_of_the_server_is_not_the_callers(caller: Caller, name: str) -> None:
    assert refused(lambda: caller.send(input="hello", metadata={name: "x"})).param == "metadata"


def test_instructions_are_told_as_data(echo: Caller) -> None:
    text = 'Answer in French.\n# Request\n\n{"text": "other"}'

    found = echo.create("hello", instructions=text)

    assert found["instructions"] == text
    assert json.dumps(text) in words(found)
    assert words(found).count("\n# Request\n") == 1
    assert "caller's instructions" not in words(echo.create("hello"))


def test_instructions_reach_a_prompt_of_the_agents_own(owner: User, tmp_path: Path) -> None:
    agent = hybrid_agent(
        owner, command=brain(tmp_path, "print(prompt)"), prompt="{request}{answers_clause}"
    )

    found = Caller(key_for(agent, owner)).create("hello", instructions="Answer in French.")

    assert '"Answer in French."' in words(found)


@pytest.mark.parametrize("who", ["the caller", "the owner on the page"])
def test_instructions_hold_after_an_answer(owner: User, tmp_path: Path, who: str) -> None:
    script = f"if '# The answer' in prompt:\n    print(prompt)\nelse:\n    {question()}"
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))
    paused = caller.create(REQUEST, instructions="Answer in French.")

    if who == "the caller":
        done = caller.answer(paused, "EU")
    else:
        ask = ask_of(paused)
        answering.answer_ask(ask_id=ask.pk, by=owner, option=ask.options.get(label="EU").key)
        carry_all()
        done = body(Response.objects.get(answers=ask).public_id)

    assert '"Answer in French."' in words(done)
    assert done["instructions"] == "Answer in French."


def test_a_transcript_is_told_whole(echo: Caller) -> None:
    found = echo.create(
        input=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "Look."},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "secret"}]},
            {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"p": "x"}'},
            result("c1", "two files"),
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]},
            {"role": "user", "content": "Go on."},
            {"role": "system", "content": "Be kind."},
        ]
    )

    told = words(found)
    for text in ("Be brief.", "Look.", "two files", "I will not.", "Be kind."):
        assert text in told
    assert r"c1: ls {\"p\": \"x\"}" in told
    assert "secret" not in told
    assert told.count("Go on.") == 1


@pytest.mark.parametrize("part", [IMAGE, FILE, {**IMAGE, "image_url": "https://example.com/a.png"}])
def test_images_and_files_are_told(echo: Caller, part: dict[str, Any]) -> None:
    last = {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}
    earlier = [{**last}, {"role": "user", "content": "And now?"}]
    address = part.get("image_url") or part["file_data"]

    assert address in words(echo.create(input=[last]))
    assert address in words(echo.create(input=earlier))


def test_a_file_is_no_answer(caller: Caller) -> None:
    paused = caller.ask()

    no = refused(lambda: caller.answer(paused, [{"type": "input_text", "text": "EU"}, IMAGE]))

    assert (no.status, no.code) == (400, "unsupported_parameter")
    assert ask_of(paused).status == "open"


def test_own_items_are_resolved_by_their_ids(echo: Caller, owner: User) -> None:
    first = echo.create("The first words.")
    (item,) = first["output"]
    given = Response.objects.get(public_id=first["id"]).inputs.get().item_id

    found = echo.create(
        input=[
            {"type": "item_reference", "id": given},
            {"id": item["id"]},
            {"role": "user", "content": "And now?"},
        ]
    )

    assert words(found).count("The first words.") == 2
    assert json.dumps(words(first))[:40] in words(found)


@pytest.mark.parametrize("name", ["msg_" + "0" * 48, "rs_1", "x", "%", "item\n"])
def test_an_item_that_nobody_knows_is_refused(caller: Caller, name: str) -> None:
    items = [{"type": "item_reference", "id": name}, {"role": "user", "content": "x"}]

    no = refused(lambda: caller.send(input=items))

    assert (no.status, no.code, no.param) == (400, "item_not_found", "input")


def test_an_item_of_another_key_is_not_resolved(echo: Caller, stranger: User) -> None:
    first = echo.create("The first words.")
    agent: Agent = hybrid_agent(stranger, "theirs")
    theirs = Caller(key_for(agent, stranger, name="theirs"))
    items = [{"id": first["output"][0]["id"]}, {"role": "user", "content": "x"}]

    assert refused(lambda: theirs.send(input=items)).code == "item_not_found"


def test_an_approval_of_nothing_is_refused(caller: Caller) -> None:
    paused = caller.ask()
    approval = {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": True,
    }
    for items in ([approval], [approval, {"role": "user", "content": "Go on."}]):
        no = refused(
            lambda items=items: caller.send(previous_response_id=paused["id"], input=items)
        )
        assert (no.status, no.param) == (400, "input")
        no = refused(lambda items=items: caller.send(input=items))
        assert (no.status, no.code) == (400, "approval_request_not_found")
    assert ask_of(paused).status == "open"
