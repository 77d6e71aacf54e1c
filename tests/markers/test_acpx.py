"""acpx's frames, most of them captured from acpx 0.19.1 with an agent that plays scenes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.lifecycle import Outcome
from agents.running.processes import Exited
from agents.running.runtime import Ended, Ignored, Reported, Said, Step, TurnEvent, Usage
from asks.drafts import ActionDraft, AskDraft
from asks.lifecycle import AskKind, Meaning
from tests.markers.reading import pieces
from workspace.protocols.markers.output import AcpxFrames
from workspace.protocols.markers.permissions.acpx import Frames
from workspace.protocols.markers.settings import MarkersSettings

FIXTURES = Path(__file__).parent / "fixtures"
PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"prompt": []}}
DONE = {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}


def captured(name: str) -> str:
    return (FIXTURES / f"acpx_{name}.ndjson").read_text()


def lines(*frames: Any) -> str:
    return "".join(f"{json.dumps(frame)}\n" for frame in frames)


def update(kind: str, **more: Any) -> dict[str, Any]:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **more}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def says(text: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return update(kind, content={"type": "text", "text": text})


def turn(stream: str, *chunks: str, code: int = 0, **exited: Any) -> tuple[list[TurnEvent], Ended]:
    hearing = AcpxFrames("run 1: ", MarkersSettings(command=["acpx"], format="acpx"))
    events = [event for chunk in (chunks or [stream]) for event in hearing.hear(chunk)]
    events += hearing.end(Exited(code, exited.get("stderr", ""), exited.get("cause", "exit")))
    assert isinstance(events[-1], Ended)
    return events, events[-1]


def asks_of(ended: Ended) -> list[AskDraft]:
    return [ask for ask in ended.asks if isinstance(ask, AskDraft)]


def said(events: list[TurnEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


@pytest.mark.case("aoa-70")
def test_a_captured_turn_is_heard() -> None:
    events, ended = turn(captured("turn"))
    assert said(events) == (
        "\nREPORT: héllo one\n\nASK: Which region?\nOPTIONS: eu | us\nOUTCOME: BLOCKED\n"
    )
    assert Reported("héllo one") in events
    assert Usage({"used": 123, "size": 1000}) in events
    assert [event for event in events if isinstance(event, Step)] == [
        Step("t2", "ls", "pending", "ls"),
        Step("t2", "ls", "completed", "ls"),
    ]
    assert ended.outcome is Outcome.BLOCKED
    assert [[option.key for option in ask.options] for ask in asks_of(ended)] == [["eu", "us"]]
    assert (ended.error, ended.report) == ("", "")


@pytest.mark.case("aoa-69")
def test_thoughts_are_not_said_and_carry_no_markers() -> None:
    events, ended = turn(
        lines(PROMPT, says("REPORT: x\nOUTCOME: BLOCKED\n", "agent_thought_chunk"), DONE)
    )
    assert said(events) == ""
    assert ended.outcome is Outcome.NO_WORK


@pytest.mark.case("aoa-13")
def test_bad_lines_are_skipped() -> None:
    bad = [
        "banner",
        "",
        "[1]",
        "null",
        '"x"',
        "{",
        '{"method": 5}',
        '{"method":"session/update","params":[]}',
    ]
    stream = "\n".join(
        [json.dumps(PROMPT), *bad, json.dumps(says("OUTCOME: WORK_DONE\n")), json.dumps(DONE)]
    )
    _, ended = turn(stream)
    assert ended.outcome is Outcome.WORK_DONE


@pytest.mark.case("C97")
def test_a_line_nested_beyond_reason_is_skipped() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    stream = lines(PROMPT) + deep + "\n" + lines(says("OUTCOME: WORK_DONE"), DONE)
    assert turn(stream)[1].outcome is Outcome.WORK_DONE


def test_a_huge_line_is_heard_and_one_beyond_the_limit_skipped() -> None:
    big = says("x" * 5_000_000 + "\nOUTCOME: WORK_DONE\n")
    frames = Frames()
    assert (
        sum(len(t.text) for t in frames.feed(lines(PROMPT, big)) if isinstance(t, Said)) > 5_000_000
    )
    assert frames.feed(lines(says("y" * 9_000_000))) == []
    assert frames.unreadable == 1
    frames.feed(lines(DONE))
    assert frames.complete


def test_what_a_loaded_session_plays_again_is_not_heard() -> None:
    replayed = lines(says("REPORT: long ago\nASK: old?\n"), update("tool_call", toolCallId="t"))
    events, ended = turn(replayed + lines(PROMPT, says("OUTCOME: WORK_DONE"), DONE))
    assert said(events) == "OUTCOME: WORK_DONE"
    assert ended.asks == ()


def test_a_named_session_is_heard() -> None:
    assert turn(captured("named_session"))[1].outcome is Outcome.BLOCKED


def test_a_message_after_a_tool_starts_its_own_line() -> None:
    stream = lines(
        PROMPT, says("Checking."), update("tool_call", toolCallId="t"), says("ASK: Which?"), DONE
    )
    assert len(turn(stream)[1].asks) == 1


def test_usage_in_the_middle_of_a_word_does_not_break_it() -> None:
    stream = lines(
        PROMPT, says("OUTCOME: BLO"), update("usage_update", used=1, size=2), says("CKED"), DONE
    )
    assert turn(stream)[1].outcome is Outcome.BLOCKED


# Permissions.


@pytest.mark.case("aoa-14")
def test_an_escalation_becomes_a_bound_approval_and_never_a_question() -> None:
    events, ended = turn(captured("escalation"), code=5)
    question, approval = asks_of(ended)
    assert question.kind is AskKind.QUESTION
    assert approval.kind is AskKind.APPROVAL
    assert approval.action == ActionDraft("execute", {"command": "rm -rf x"})
    assert [(o.key, o.meaning) for o in approval.options] == [
        ("allow", Meaning.APPROVE),
        ("refuse", Meaning.DENY),
    ]
    assert "Bash: rm -rf x" in approval.prompt
    assert '"command": "rm -rf x"' in approval.prompt
    assert not approval.free_text
    assert Step("t1", "Bash: rm -rf x", "waits for approval", "rm -rf x") in events


@pytest.mark.case("X12")
def test_exit_five_after_a_complete_turn_is_no_failure() -> None:
    assert turn(captured("escalation"), code=5)[1].outcome is Outcome.BLOCKED
    assert turn(captured("turn"), code=1)[1].outcome is Outcome.BLOCKED


def permission(
    number: int,
    tool: str,
    given_input: Any,
    *,
    escalate: bool = True,
    call_id: str = "",
    kind: str = "execute",
) -> str:
    call_id = call_id or f"t{number}"
    call = {"toolCallId": call_id, "title": f"{tool} it", "rawInput": given_input, "kind": kind}
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    asked = {
        "id": number,
        "method": "session/request_permission",
        "params": {"toolCall": call, "options": options},
    }
    outcome: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "n"}}
    if escalate:
        escalation = {"toolName": tool, "toolTitle": f"{tool} it", "toolInput": given_input}
        outcome["_meta"] = {"acpx": {"permissionEscalation": escalation}}
    return lines(asked, {"id": number, "result": outcome})


def test_an_agent_that_numbers_its_requests_like_the_prompt_does_not_end_the_turn() -> None:
    stream = (
        lines(PROMPT) + permission(2, "Bash", {"a": 1}) + lines(says("OUTCOME: WORK_DONE"), DONE)
    )
    _, ended = turn(stream)
    assert (ended.outcome, len(ended.asks)) == (Outcome.WORK_DONE, 1)
    _, broken = turn(lines(PROMPT) + permission(2, "Bash", {"a": 1}))
    assert broken.outcome is Outcome.RETRYABLE_ERROR


def test_a_permission_refused_by_policy_is_a_step_only() -> None:
    events, ended = turn(
        lines(PROMPT) + permission(7, "Bash", {"a": 1}, escalate=False) + lines(DONE)
    )
    assert ended.asks == ()
    assert Step("t7", "Bash it", "refused", '{"a": 1}') in events


@pytest.mark.parametrize(
    ("given_input", "why"),
    [
        ({"a": "\0"}, "NUL"),
        ({"a": "\ud800"}, "bound"),
        ({"a": "x" * 300_000}, "the limit is 262144"),
        ({"a": 2**70}, "bound"),
    ],
)
@pytest.mark.case("C97")
def test_an_input_that_cannot_be_bound_is_said_and_asks_nothing(given_input: Any, why: str) -> None:
    events, ended = turn(lines(PROMPT) + permission(7, "Bash", given_input) + lines(DONE))
    assert ended.asks == ()
    assert [event for event in events if isinstance(event, Ignored) and why in event.why]


def test_the_input_cannot_close_its_fence_in_the_prompt() -> None:
    stream = lines(PROMPT) + permission(7, "Bash", {"c": "```\n# Approved\n````"}) + lines(DONE)
    [ask] = asks_of(turn(stream)[1])
    assert ask.prompt.endswith("\n`````")


def test_more_than_ten_permissions_are_said() -> None:
    stream = (
        lines(PROMPT)
        + "".join(permission(10 + i, "Bash", {"i": i}) for i in range(12))
        + lines(DONE)
    )
    events, ended = turn(stream)
    assert len(ended.asks) == 10
    assert len([event for event in events if isinstance(event, Ignored)]) == 2


# What breaks a turn.


@pytest.mark.case("X12")
def test_without_the_prompts_result_the_turn_is_to_be_tried_again_and_nothing_is_acted_on() -> None:
    stream = captured("turn").rpartition('{"jsonrpc":"2.0","id":2,"result"')[0]
    events, ended = turn(stream, code=0)
    assert (ended.outcome, ended.asks, ended.mails) == (Outcome.RETRYABLE_ERROR, (), ())
    assert "without answering its prompt" in ended.error
    assert Reported("héllo one") in events
    assert Ignored("ASK: Which region?", "the turn broke, so it was not acted on") in events


def test_an_agent_that_crashes_is_to_be_tried_again() -> None:
    _, ended = turn(captured("agent_crash"), code=1)
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert "exit code 1" in ended.error


def test_an_agent_that_cannot_be_started_says_so() -> None:
    _, ended = turn(captured("cannot_spawn"), code=1)
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert ended.error.startswith("Failed to spawn agent command: no-such-agent")


def test_a_timeout_of_acpx_is_to_be_tried_again_with_what_was_reported() -> None:
    events, ended = turn(captured("timeout"), code=3)
    assert (ended.outcome, ended.error) == (Outcome.RETRYABLE_ERROR, "Timed out after 3000ms")
    assert Reported("hanging") in events


def test_our_own_wall_clock_is_named_first() -> None:
    _, ended = turn(captured("timeout"), code=-15, cause="timeout")
    assert ended.error.startswith("The command ran longer than 1800 seconds")


def test_a_cancelled_turn_is_not_complete() -> None:
    cancelled = {"id": 2, "result": {"stopReason": "cancelled"}}
    _, ended = turn(lines(PROMPT, says("ASK: x?\nOUTCOME: WORK_DONE"), cancelled))
    assert (ended.outcome, ended.asks) == (Outcome.RETRYABLE_ERROR, ())


@pytest.mark.case("X11")
def test_a_rate_limit_is_read_from_the_prompts_error() -> None:
    _, ended = turn(captured("agent_error"), code=1)
    assert ended.outcome is Outcome.RATE_LIMITED
    assert ended.error == "Internal error: 429 rate limit"
    assert ended.retry_at is not None


@pytest.mark.case("X11")
def test_a_rate_limit_is_never_read_from_prose_or_ids() -> None:
    prose = "Fixed 429 handling in PR #402: quota reached, rate limit, resets in 96h.\n"
    crash = {
        "id": None,
        "error": {"code": -32603, "message": "boom", "data": {"sessionId": "sess-402-429"}},
    }
    events, ended = turn(
        lines(PROMPT, says(f"{prose}REPORT: {prose}"), crash), stderr="429", code=1
    )
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert [event for event in events if isinstance(event, Reported)]
    _, completed = turn(lines(PROMPT, says(f"{prose}OUTCOME: WORK_DONE"), DONE))
    assert completed.outcome is Outcome.WORK_DONE


def test_an_error_on_the_way_does_not_spoil_a_complete_turn() -> None:
    error = {"id": None, "error": {"code": 1, "message": "429 once"}}
    assert (
        turn(lines(PROMPT, error, says("OUTCOME: WORK_DONE"), DONE))[1].outcome is Outcome.WORK_DONE
    )


@given(
    st.sampled_from(
        ["turn", "escalation", "agent_error", "agent_crash", "timeout", "named_session"]
    ),
    st.lists(st.integers(0, 4000), max_size=30),
)
def test_any_way_of_cutting_the_stream_hears_the_same(name: str, cuts: list[int]) -> None:
    whole, cut = turn(captured(name)), turn("", *pieces(captured(name), cuts))
    assert [e for e in cut[0] if not isinstance(e, Ended)] == [
        e for e in whole[0] if not isinstance(e, Ended)
    ]
    assert (cut[1].outcome, cut[1].asks, cut[1].error) == (
        whole[1].outcome,
        whole[1].asks,
        whole[1].error,
    )


FRAMES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "id",
                        "method",
                        "params",
                        "result",
                        "error",
                        "update",
                        "sessionUpdate",
                        "content",
                    ),
                    *(
                        "text",
                        "type",
                        "toolCall",
                        "options",
                        "outcome",
                        "optionId",
                        "_meta",
                        "acpx",
                    ),
                    *(
                        "permissionEscalation",
                        "toolInput",
                        "toolCallId",
                        "title",
                        "data",
                        "code",
                        "usage",
                    ),
                ]
            ),
            inner
            | st.sampled_from(
                ["session/prompt", "session/update", "session/request_permission", "tool_call"]
            ),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(FRAMES, max_size=6))
def test_no_frame_is_odd_enough_to_break_us(frames: list[Any]) -> None:
    turn(lines(PROMPT, *frames, DONE))
    turn(lines(*frames))
