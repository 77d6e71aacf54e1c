"""What a brain tells on standard output: words, steps, and above all what the turn cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from agents.running.runtime import Ignored, Said, Step
from tests.responses.world import REQUEST, Caller, brain, hybrid_agent, key_for, question, words
from workspace.protocols.responses.agent.brain_output import MAX_LINE, BrainOutput, Heard

#: As `claude --print --output-format stream-json` writes it.
CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Read"]},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.csv"}},
            ],
        },
    },
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result"}]}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
    {
        "type": "result",
        "subtype": "success",
        "result": "Done.",
        "total_cost_usd": 0.6,
        "usage": {"input_tokens": 9, "output_tokens": 2, "service_tier": "standard"},
    },
]


def hear(*lines: Any, pieces: int = 1) -> tuple[BrainOutput, list[Heard]]:
    """What lines told; in pieces of so many characters if more than one."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    output, size = BrainOutput("1."), max(len(text) // pieces, 1)
    told: list[Heard] = []
    for start in range(0, len(text), size):
        told += output.hear(text[start : start + size])
    return output, [*told, *output.end()]


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
def test_what_claude_writes_is_understood_as_it_is(pieces: int) -> None:
    output, told = hear(*CLAUDE, pieces=pieces)

    assert told == [
        Said("I look.\n"),
        Step("1.1", "Read", detail='{"path":"a.csv"}'),
        Said("Done.\n"),
    ]
    assert output.text == "I look.\nDone."
    assert output.cost == 0.6
    assert output.usage == {"input_tokens": 9, "output_tokens": 2}


@pytest.mark.django_db
def test_the_ceiling_is_held_to_what_claude_says_a_turn_cost(owner: User, tmp_path: Path) -> None:
    """It has asked already; too dear a turn is a failed one all the same, and asks nobody."""
    lines = "".join(f"print({json.dumps(json.dumps(line))})\n" for line in CLAUDE)
    command = brain(tmp_path, question() + lines)
    agent = hybrid_agent(owner, command=command, max_usd_per_run=0.5)
    caller = Caller(key_for(agent, owner))

    failed = caller.create(REQUEST)
    assert failed["status"] == "failed"
    assert "0.6 USD" in failed["error"]["message"]
    assert failed["envelope"]["cost_usd"] == 0.6

    agent.settings["max_usd_per_run"] = 0.6
    agent.save()
    paused = caller.create(REQUEST)
    assert paused["envelope"]["status"] == "awaiting_human"
    assert words(paused) == "I look.\nDone.\n"
    assert paused["usage"]["input_tokens"] == 9


@pytest.mark.parametrize(
    ("lines", "cost"),
    [
        ([], None),
        (["done"], None),
        ([{"type": "cost", "usd": 0.1}, {"type": "cost", "usd": 0.2}], 0.3),
        ([{"type": "cost", "usd": 0}], 0),
        ([{"type": "result", "total_cost_usd": 0.4}, {"type": "cost", "usd": 0.1}], 0.4),
        ([{"type": "result", "total_cost_usd": 0.1}, {"type": "cost", "usd": 0.4}], 0.4),
        ([{"type": "result", "total_cost_usd": 2}, {"type": "result", "total_cost_usd": 1}], 2),
    ],
)
def test_a_total_and_its_parts_the_larger_counts(lines: list[Any], cost: float | None) -> None:
    output, _ = hear(*lines)

    assert output.cost == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    "usd",
    ["0.1", True, None, -0.1, 1e6, "NaN", "Infinity", "-Infinity", "1" + "0" * 400, [1], {}],
)
def test_what_is_no_amount_costs_nothing_and_is_said(usd: object) -> None:
    is_bare = isinstance(usd, str) and usd != "0.1"
    line = f'{{"type": "cost", "usd": {usd if is_bare else json.dumps(usd)}}}'

    output, told = hear(line, {"type": "result", "total_cost_usd": usd})

    assert output.cost is None
    assert [type(one) for one in told] == [Ignored]


def test_what_is_no_line_of_ours_is_words() -> None:
    lines = ["{not json", '["type"]', '{"type": "mystery"}', "plain", ""]
    output, told = hear(*lines)

    assert told == [Said(f"{line}\n") for line in lines]
    assert output.cost is None


def test_a_line_without_end_is_dropped_and_said() -> None:
    _, told = hear("a" * (MAX_LINE + 1), {"type": "text", "text": "b"}, pieces=9)

    assert isinstance(told[0], Ignored)
    assert "more than" in told[0].why
    assert told[1:] == [Said("b")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["step", "text", "cost", "result", "assistant", "system"])},
        optional=dict.fromkeys(
            ("name", "arguments", "text", "usd", "total_cost_usd", "usage", "message"), JSON
        ),
    )
)
def test_nothing_that_is_told_breaks_it(line: dict[str, Any]) -> None:
    output, _ = hear(line)

    assert output.cost is None or 0 <= output.cost < 1e6
