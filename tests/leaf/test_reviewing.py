"""One turn of the agent, with the real library and a scripted model: what its tools do and stop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pydantic_ai.exceptions import ModelHTTPError, UserError
from pydantic_ai.messages import ToolCallPart

from agents.running.runtime import Said, Step
from tests.leaf.world import Brain, Part, ask_approval, say, submit
from workspace.protocols.leaf.agent import texts
from workspace.protocols.leaf.agent.reviewing import (
    Asked,
    Broke,
    Failed,
    Review,
    Reviewed,
    Submitted,
    review_item,
)
from workspace.protocols.leaf.server.volume import Volume

names = (f"brain-{number}" for number in itertools.count())


class Turned:
    """A turn that was taken: what came of it, what was told meanwhile, and the brain that thought."""

    def __init__(self, *responses: Sequence[Part], **job: Any) -> None:
        self.brain = Brain(next(names), *responses)
        given = {"item_id": "i1", "prompt": "Go.", "may_submit": True, "turns": 40, "seconds": 30}
        self.told = async_to_sync(self._take)(Review(**{**given, "model": self.brain.name, **job}))
        last = self.told[-1]
        assert isinstance(last, Reviewed)
        self.result, self.messages = last.result, last.messages

    async def _take(self, job: Review) -> list[Any]:
        return [told async for told in review_item(job)]

    @property
    def answers(self) -> list[str]:
        """What the tools answered, in order."""
        parts = [part for message in self.messages or [] for part in message["parts"]]
        return [str(part["content"]) for part in parts if part["part_kind"] == "tool-return"]


@pytest.mark.case("leaf-T01", "leaf-T05")
def test_the_tools_are_what_the_protocol_names() -> None:
    assert Turned([submit()]).brain.tools == [{"submit_verdict", "request_approval"}]
    assert Turned([ask_approval()], may_submit=False).brain.tools == [{"request_approval"}]


@pytest.mark.case("leaf-T02", "leaf-T10")
def test_a_request_for_approval_ends_the_turn() -> None:
    turned = Turned([ask_approval("What I did", "What comes")])

    assert turned.result == Asked("What I did", "What comes")
    assert turned.brain.calls == 1
    assert turned.answers == [texts.APPROVAL_REQUESTED]


@pytest.mark.case("leaf-T03", "leaf-T04")
@pytest.mark.parametrize("empty", ["", "  ", "\u200b"])
def test_an_empty_request_is_refused_to_the_agent(empty: str) -> None:
    for bad in (ask_approval(empty, "p"), ask_approval("s", empty)):
        turned = Turned([bad], [say()])

        assert isinstance(turned.result, Failed)
        assert turned.answers == [texts.EMPTY_REQUEST]


@pytest.mark.case("leaf-T06", "leaf-T08")
def test_a_verdict_ends_the_turn() -> None:
    turned = Turned([submit("CLEAR", reason="")], [submit("FLAGGED")])

    assert turned.result == Submitted({"item_id": "i1", "verdict": "CLEAR", "reason": ""})
    assert turned.brain.calls == 1
    assert turned.answers == [texts.VERDICT_RECORDED]


@pytest.mark.case("leaf-T07", "leaf-T09", "leaf-T11")
def test_an_invalid_verdict_is_refused_to_the_agent_and_goes_on() -> None:
    turned = Turned([submit("MAYBE")], [submit(item_id="i2")], [submit("FLAGGED")])

    assert turned.result == Submitted(
        {"item_id": "i1", "verdict": "FLAGGED", "reason": "It is there."}
    )
    assert turned.brain.calls == 3
    assert turned.answers[-1] == texts.VERDICT_RECORDED


@pytest.mark.case("leaf-L04")
def test_only_invalid_verdicts_are_an_invalid_verdict() -> None:
    turned = Turned([submit("MAYBE")])

    assert isinstance(turned.result, Failed)
    assert turned.result.reason == "invalid_verdict"


@pytest.mark.case("leaf-L02")
def test_words_alone_are_no_verdict() -> None:
    turned = Turned([say("All is well.")])

    assert isinstance(turned.result, Failed)
    assert turned.result.reason == "no_verdict"
    assert turned.told[0] == Said("All is well.\n")


@pytest.mark.case("leaf-T16", "leaf-T17", "leaf-T18", "leaf-T19", "leaf-X14")
def test_turns_are_capped_and_a_verdict_stops_everything(volume: Path) -> None:
    (volume / "a.py").write_text("eval(x)")
    read = ToolCallPart("read", {"path": f"{volume}/a.py"})
    on = Volume(str(volume))

    at_the_cap = Turned([read], [read], [submit()], turns=3, files=on)
    beyond = Turned([read], turns=3, files=on)
    with_the_verdict = Turned([submit(), read], files=on)
    again_and_again = Turned([submit() for _ in range(1269)], files=on)

    assert isinstance(at_the_cap.result, Submitted)
    assert isinstance(beyond.result, Failed)
    assert beyond.result.reason == "no_verdict"
    assert "Turn limit (3)" in beyond.result.message
    assert beyond.brain.calls == 3
    assert with_the_verdict.answers == [
        texts.VERDICT_RECORDED,
        "Tool not executed - a final result was already processed.",
    ]
    assert isinstance(again_and_again.result, Submitted)
    assert again_and_again.answers.count(texts.VERDICT_RECORDED) == 1


@pytest.mark.case("leaf-X2")
@pytest.mark.parametrize("verdict_first", [True, False])
def test_a_gate_beside_a_verdict_is_the_gate(*, verdict_first: bool) -> None:
    calls = [submit(), ask_approval()]

    turned = Turned(calls if verdict_first else calls[::-1])

    assert isinstance(turned.result, Asked)


@pytest.mark.case("leaf-X3")
@pytest.mark.parametrize("gate_first", [True, False])
def test_nothing_is_carried_out_beside_a_gate(volume: Path, *, gate_first: bool) -> None:
    (volume / "a.py").write_text("secret")
    read = ToolCallPart("read", {"path": f"{volume}/a.py"})
    calls = [ask_approval(), read]

    turned = Turned(calls if gate_first else calls[::-1], [read], files=Volume(str(volume)))

    assert isinstance(turned.result, Asked)
    assert turned.brain.calls == 1
    assert "secret" not in str(turned.messages)


@pytest.mark.case("leaf-X4")
def test_a_verdict_that_is_withheld_cannot_be_submitted() -> None:
    turned = Turned([submit()], [ask_approval()], may_submit=False)

    assert isinstance(turned.result, Asked)


@pytest.mark.case("leaf-X6")
def test_two_requests_in_one_turn_are_one_gate() -> None:
    turned = Turned([ask_approval("first"), ask_approval("second")])

    assert turned.result == Asked("first", "Submit FLAGGED.")


@pytest.mark.case("leaf-L05", "leaf-X7")
@pytest.mark.parametrize(
    ("error", "limited", "for_good"),
    [
        (ModelHTTPError(500, "m"), False, False),
        (ModelHTTPError(503, "m"), False, False),
        (ConnectionRefusedError("refused"), False, False),
        (OSError("reset"), False, False),
        (UserError("no such provider"), False, True),
    ],
)
def test_a_model_that_is_away_is_never_an_answer(
    error: Exception, *, limited: bool, for_good: bool
) -> None:
    result = Turned([error]).result

    assert isinstance(result, Broke)
    assert (result.limited, result.for_good) == (limited, for_good)
    assert result.message


def test_a_model_that_does_not_exist_is_given_up_at_once() -> None:
    result = Turned([say()], model="nobody:nothing-1").result

    assert isinstance(result, Broke)
    assert result.for_good


def test_a_turn_that_takes_too_long_is_ended() -> None:
    import time

    class Slow(Brain):
        def _play(self, messages: Any, info: Any) -> Any:
            time.sleep(0.3)
            return super()._play(messages, info)

    brain = Slow("slow", [ToolCallPart("read", {"path": "/x"})])
    turned = Turned([say()], model=brain.name, seconds=0.2, files=Volume("/nowhere"))

    assert isinstance(turned.result, Broke)
    assert not turned.result.for_good


def test_the_agent_reads_the_workspace_and_nothing_else(volume: Path) -> None:
    (volume / "a.py").write_text("eval(input())")
    (volume / "link").symlink_to("/etc/hostname")
    on = Volume(str(volume), "/workspace/repo")

    def read(path: str) -> str:
        return Turned([ToolCallPart("read", {"path": path})], [submit()], files=on).answers[0]

    assert read("/workspace/repo/a.py") == "eval(input())"
    for path in ("/etc/hostname", "/workspace/repo/../../etc/hostname", "/workspace/repo/link"):
        assert read(path).startswith("The file cannot be read.")


def test_what_the_agent_says_and_calls_is_told() -> None:
    turned = Turned([say("I look."), ask_approval()], call_prefix="7.1.")
    said, step = turned.told[:2]

    assert said == Said("I look.\n")
    assert isinstance(step, Step)
    assert step.title == "request_approval"
    assert step.call_id.startswith("7.1.")


@pytest.mark.case("leaf-G17")
def test_the_conversation_goes_on_where_it_was() -> None:
    first = Turned([ask_approval()])
    second = Turned([submit()], messages=first.messages, prompt="Human decision: APPROVED.")

    assert second.brain.prompts == ["Go.", "Human decision: APPROVED."]
    assert isinstance(second.result, Submitted)
