"""The demo's agents as real programs, through the runtime, as an owner would meet them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Given, Ignored, Noticed, Reported
from asks.drafts import AskDraft
from asks.lifecycle import Style
from tests.markers.turns import a_turn, verdict
from workspace.demo.worlds import DEMO
from workspace.protocols.markers.runtime import MarkersRuntime

PROGRAMS = Path(__file__).parents[2] / "workspace/demo/agents"


def play(program: str, **more: Any) -> tuple[list[Any], Ended, list[AskDraft]]:
    """One turn of a demo agent at full speed; none of them may write a line that is not taken."""
    settings = {"command": [sys.executable, str(PROGRAMS / program)], "env": {"DEMO_PACE": "0"}}

    async def events_of() -> list[Any]:
        async with aclosing(
            MarkersRuntime().take_turn(a_turn(settings=settings, **more))
        ) as events:
            return [event async for event in events]

    events = asyncio.run(events_of())
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert ended.error == ""
    assert [event for event in events if isinstance(event, Ignored)] == []
    return events, ended, [ask for ask in ended.asks if isinstance(ask, AskDraft)]


def answered(ask: AskDraft, option: str = "", text: str = "") -> Given:
    label = next((one.label for one in ask.options if one.key == option), "")
    assert bool(option) == bool(label)
    return verdict(prompt=ask.prompt, option=option, label=label, text=text)


def reports(events: list[Any]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Reported))


def test_every_program_of_the_demo_world_exists() -> None:
    assert {character.program for character in DEMO} <= {path.name for path in PROGRAMS.iterdir()}


@pytest.mark.parametrize("option", ["eu", "us"])
def test_the_ledger_asks_eu_or_us_and_closes_what_was_decided(option: str) -> None:
    _, ended, [ask] = play("ledger.py")
    assert ended.outcome is Outcome.BLOCKED
    assert ask.prompt.startswith("Which ledger: EU or US?")
    assert [one.label for one in ask.options] == ["EU", "US"]
    assert ask.free_text
    events, ended, asks = play("ledger.py", given=(answered(ask, option),))
    assert (ended.outcome, asks) == (Outcome.WORK_DONE, [])
    assert f"The ledger is decided: {option.upper()}." in ended.report
    assert "October is closed." in reports(events)


def test_the_ledger_takes_words_as_well() -> None:
    _, _, [ask] = play("ledger.py")
    _, ended, _ = play("ledger.py", given=(answered(ask, text="EU, but split the last"),))
    assert "decided: EU, but split the last." in ended.report


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("ship-it", "4.2 is out (ship it). Release notes signed by Mina"),
        ("hold-until-monday", "held"),
    ],
)
def test_the_release_asks_two_things_in_one_turn(option: str, words: str) -> None:
    _, ended, [ship, notes] = play("release.py")
    assert (ended.outcome, len(ship.options), notes.options) == (Outcome.BLOCKED, 3, ())
    given = (answered(ship, option), answered(notes, text="Mina"))
    events, ended, asks = play("release.py", given=given)
    assert (ended.outcome, asks) == (Outcome.WORK_DONE, [])
    assert words in reports(events)


def test_deleting_branches_is_a_destructive_option_and_listing_asks_again() -> None:
    _, _, [ask] = play("branches.py")
    styles = {option.key: option.style for option in ask.options}
    assert styles["delete-them"] is Style.DANGER
    _, ended, [again] = play("branches.py", given=(answered(ask, "list-them-first"),))
    assert ended.outcome is Outcome.BLOCKED
    assert [option.key for option in again.options] == ["keep-them", "delete-them"]
    events, ended, _ = play("branches.py", given=(answered(again, "delete-them"),))
    assert "1240 of 1,240 branches are deleted." in reports(events)
    events, ended, _ = play("branches.py", given=(answered(again, "keep-them"),))
    assert "nothing was deleted" in reports(events)
    assert ended.outcome is Outcome.WORK_DONE


def test_the_support_writer_asks_in_words_and_uses_them_verbatim() -> None:
    message = Given("message", "olivia", "Ms Ito wrote again")
    _, ended, [ask] = play("support.py", given=(message,))
    assert "A new case came in: Ms Ito wrote again" in ended.report
    assert (ask.options, ask.free_text) == ((), True)
    words = "On Friday, ASK: nobody\nOUTCOME: BLOCKED {{7*7}}"
    settings_free = (answered(ask, text=words),)
    with pytest.raises(AssertionError, match="Ignored"):
        # The words look like markers, and the reader says that the quoted lines are not taken.
        play("support.py", given=settings_free)
    events, ended, _ = play("support.py", given=(answered(ask, text="On Friday {{7*7}}"),))
    assert "> On Friday {{7*7}}" in ended.report
    assert [event for event in events if isinstance(event, Noticed)]
    assert ended.outcome is Outcome.WORK_DONE


def test_the_indexer_reports_while_it_works_and_asks_nothing() -> None:
    events, ended, asks = play("indexer.py")
    assert (ended.outcome, asks) == (Outcome.WORK_DONE, [])
    assert len([event for event in events if isinstance(event, Reported)]) == 4


def test_the_watcher_backs_off_without_a_sound() -> None:
    events, ended, asks = play("watcher.py")
    assert (ended.outcome, asks, reports(events)) == (Outcome.NO_WORK, [], "")


def test_the_researcher_says_when_its_quota_is_back() -> None:
    _, ended, _ = play("research.py")
    assert ended.outcome is Outcome.RATE_LIMITED
    assert ended.retry_at is not None


def test_a_script_is_played_turn_by_turn() -> None:
    parts = [
        "REPORT: one\nASK: First?\nOPTIONS: a | b\nOUTCOME: BLOCKED",
        "REPORT: got {answer}\nASK: Then?\nOUTCOME: BLOCKED",
        "sleep 0\nREPORT: end with {answer}\nOUTCOME: WORK_DONE",
    ]
    mission = "\n---\n".join(parts)
    events, ended, [first] = play("scripted.py", mission=mission)
    assert (reports(events), ended.outcome) == ("one", Outcome.BLOCKED)
    events, _, [then] = play("scripted.py", mission=mission, given=(answered(first, "b"),))
    assert (reports(events), then.prompt) == ("got b", "Then?")
    events, ended, asks = play("scripted.py", mission=mission, given=(answered(then, text="c"),))
    assert (reports(events), ended.outcome, asks) == ("end with c", Outcome.WORK_DONE, [])


def test_a_script_that_is_over_tells_what_was_decided() -> None:
    events, ended, _ = play(
        "scripted.py", mission="ASK: q?", given=(verdict(prompt="q?", text="x"),)
    )
    assert (reports(events), ended.outcome) == ("The owner decided: x", Outcome.WORK_DONE)
    assert play("scripted.py", mission="")[1].outcome is Outcome.NO_WORK
