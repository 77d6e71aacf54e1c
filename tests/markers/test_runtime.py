"""The markers runtime with real commands: a turn from its capsule to its end."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import textwrap
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agents.lifecycle import Outcome
from agents.running import process_groups
from agents.running.runtime import (
    Ended,
    Ignored,
    Mail,
    Noticed,
    Reported,
    Said,
    Started,
    Step,
    Turn,
)
from asks.drafts import AskDraft
from tests.markers.turns import a_turn, verdict
from workspace.protocols.markers.runtime import MarkersRuntime
from workspace.protocols.markers.settings import MarkersSettings

FIXTURES = Path(__file__).parent / "fixtures"


def running(source: str, *arguments: str, **more: Any) -> dict[str, Any]:
    """Settings that run a piece of Python."""
    return {"command": [sys.executable, "-u", "-c", textwrap.dedent(source), *arguments], **more}


def saying(text: str, code: int = 0, **more: Any) -> dict[str, Any]:
    source = "import sys; sys.stdout.write(sys.argv[1]); sys.exit(int(sys.argv[2]))"
    return running(source, text, str(code), **more)


async def events_of(turn: Turn) -> list[Any]:
    async with aclosing(MarkersRuntime().take_turn(turn)) as events:
        return [event async for event in events]


def take(settings: dict[str, Any], **more: Any) -> tuple[list[Any], Ended]:
    events = asyncio.run(events_of(a_turn(settings=settings, **more)))
    [ended] = [event for event in events if isinstance(event, Ended)]
    assert events[-1] is ended
    return events, ended


def said(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


@pytest.mark.case("aoa-56")
def test_a_turn_from_capsule_to_questions() -> None:
    source = """
        import sys
        capsule = sys.stdin.read()
        assert "Look around." in capsule and capsule.rstrip().endswith("You are @scout.")
        print("Looking.")
        print("REPORT: Counted rows.")
        print("NOTIFY: Two are odd.")
        print("SEND: @bob have a look")
        print("ASK: Which region?")
        print("OPTIONS: EU | US")
        print("OUTCOME: BLOCKED")
    """
    events, ended = take(running(source))
    assert isinstance(events[0], Started)
    assert set(events[0].process) >= {"host", "pid", "pgid", "started"}
    assert said(events).startswith("Looking.\nREPORT: Counted rows.\n")
    assert Reported("Counted rows.") in events
    assert Noticed("Two are odd.") in events
    assert (ended.outcome, ended.report, ended.error) == (Outcome.BLOCKED, "Looking.", "")
    assert ended.mails == (Mail("bob", "have a look"),)
    [ask] = ended.asks
    assert isinstance(ask, AskDraft)
    assert [option.label for option in ask.options] == ["EU", "US"]


@pytest.mark.case("aoa-54", "aoa-71")
def test_reports_land_while_the_turn_is_still_running(tmp_path: Path) -> None:
    """The command goes on only after the report was seen."""
    seen = tmp_path / "seen"
    source = """
        import pathlib, sys, time
        print("REPORT: one\\nASK: later?", flush=True)
        while not pathlib.Path(sys.argv[1]).exists():
            time.sleep(0.01)
        print("OUTCOME: WORK_DONE")
    """

    async def watch() -> list[Any]:
        turn = a_turn(settings=running(source, str(seen), wall_clock_seconds=60))
        events = []
        async with aclosing(MarkersRuntime().take_turn(turn)) as coming:
            async for event in coming:
                events.append(event)
                if event == Reported("one"):
                    seen.touch()
        return events

    events = asyncio.run(watch())
    assert events[-1].outcome is Outcome.WORK_DONE
    assert len(events[-1].asks) == 1


@pytest.mark.case("aoa-39")
def test_the_verdict_reaches_the_next_turn_and_the_agent_goes_on() -> None:
    source = """
        import sys
        print("OUTCOME: WORK_DONE" if 'answer: "EU"' in sys.stdin.read() else "OUTCOME: BLOCKED")
    """
    assert take(running(source))[1].outcome is Outcome.BLOCKED
    given = (verdict(option="eu", label="EU"),)
    assert take(running(source), given=given)[1].outcome is Outcome.WORK_DONE


@pytest.mark.parametrize("code", [1, 5, 77])
@pytest.mark.case("aoa-52")
def test_an_exit_code_means_try_again_reports_land_and_nothing_is_acted_on(code: int) -> None:
    text = "REPORT: got far\nASK: q?\nSEND: @bob hi\nOUTCOME: WORK_DONE\n"
    events, ended = take(saying(text, code))
    assert (ended.outcome, ended.asks, ended.mails) == (Outcome.RETRYABLE_ERROR, (), ())
    assert ended.error == f"The command ended with exit code {code}."
    assert Reported("got far") in events
    assert [event.line for event in events if isinstance(event, Ignored)] == [
        "ASK: q?",
        "SEND: @bob hi",
    ]


def test_the_end_of_stderr_is_in_the_error() -> None:
    _, ended = take(running("import sys; sys.exit('the disk is full')"))
    assert ended.error == "The command ended with exit code 1.\nthe disk is full"


def test_a_signal_is_named() -> None:
    _, ended = take(running("import os; os.kill(os.getpid(), 9)"))
    assert ended.error == "The command was killed by SIGKILL."


@pytest.mark.case("aoa-72")
def test_a_timeout_is_to_be_tried_again_and_keeps_what_was_reported() -> None:
    command = ["/bin/sh", "-c", "echo 'REPORT: slow'; sleep 600"]
    events, ended = take({"command": command, "wall_clock_seconds": 2})
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert ended.error == "The command ran longer than 2 seconds and was stopped."
    assert Reported("slow") in events


def test_too_much_output_is_to_be_tried_again() -> None:
    _, ended = take(running("while True: print('x' * 100)", output_limit_bytes=10_000))
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert ended.error == "The command wrote more than 10000 bytes and was stopped."


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"command": ["no-such-command"]}, "The command no-such-command was not found"),
        ({"command": ["/bin/true"], "cwd": "/no/such"}, "The working folder /no/such does not"),
        ({}, "The agent's settings are not usable. command: Field required"),
        ({"command": []}, "give the command to run"),
    ],
)
def test_what_cannot_start_is_an_error_in_words(settings: dict[str, Any], words: str) -> None:
    events, ended = take(settings)
    assert len(events) == 1
    assert ended.outcome is Outcome.RETRYABLE_ERROR
    assert words in ended.error


def test_no_output_at_all_is_no_work() -> None:
    _, ended = take(saying(""))
    assert (ended.outcome, ended.report, ended.error) == (Outcome.NO_WORK, "", "")


@pytest.mark.case("X11")
def test_a_rate_limit_is_the_agents_own_outcome_never_its_prose() -> None:
    before = datetime.now(UTC)
    _, ended = take(saying("OUTCOME: RATE_LIMITED (resets in 2h)\n"))
    assert ended.outcome is Outcome.RATE_LIMITED
    assert ended.retry_at is not None
    assert ended.retry_at - before >= timedelta(hours=2)
    prose = "Fixed 429 handling, rate limit, quota reached.\nASK: Merge PR #402?\n"
    _, ended = take(saying(f"{prose}OUTCOME: BLOCKED\n"))
    assert (ended.outcome, ended.retry_at, len(ended.asks)) == (Outcome.BLOCKED, None, 1)


def test_nul_bytes_never_come_through() -> None:
    events, ended = take(saying("x") | running(r"print('a\0b\nREPORT: c\0d\nASK: e\0f?')"))
    assert "\0" not in said(events)
    assert Reported("cd") in events
    [ask] = ended.asks
    assert isinstance(ask, AskDraft)
    assert ask.prompt == "ef?"


def test_without_a_folder_it_works_in_a_fresh_one_that_is_removed(tmp_path: Path) -> None:
    source = "import os; open('x', 'w').close(); print(os.getcwd())"
    first, _ = take(running(source))
    second, _ = take(running(source))
    assert said(first) != said(second)
    assert not Path(said(first).strip()).exists()
    inside, _ = take(running(source, cwd=str(tmp_path)))
    assert said(inside).strip() == str(tmp_path)
    assert (tmp_path / "x").exists()


def test_the_environment_is_the_settings_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD_X", "hunter2")
    monkeypatch.setenv("ALLOWED_X", "yes")
    source = "import os, json; print(json.dumps(dict(os.environ)))"
    events, _ = take(running(source, env={"OWN": "1"}, env_allow=["ALLOWED_X"]))
    told = json.loads(said(events))
    assert "DATABASE_PASSWORD_X" not in told
    assert (told["OWN"], told["ALLOWED_X"]) == ("1", "yes")


def test_grants_are_taken_at_a_socket_that_is_nobody_elses() -> None:
    source = """
        import os, stat
        path = os.environ["NEEDS_YOU_GRANTS"]
        mode = os.stat(os.path.dirname(path)).st_mode
        print(oct(stat.S_IMODE(mode)), stat.S_ISSOCK(os.stat(path).st_mode))
    """
    events, _ = take(running(source))
    assert said(events).strip() == f"0o{stat.S_IRWXU:o} True"


def test_acpx_frames_are_heard_from_a_real_process() -> None:
    for name, code, outcome in (
        ("escalation", 5, Outcome.BLOCKED),
        ("agent_error", 1, Outcome.RATE_LIMITED),
        ("agent_crash", 1, Outcome.RETRYABLE_ERROR),
    ):
        stream = (FIXTURES / f"acpx_{name}.ndjson").read_text()
        events, ended = take(saying(stream, code, format="acpx"))
        assert ended.outcome is outcome
        if name == "escalation":
            assert len(ended.asks) == 2
            assert [event.title for event in events if isinstance(event, Step)]


def test_cancelling_the_turn_leaves_no_process() -> None:
    async def cancelled() -> int:
        source = """
            import subprocess
            child = subprocess.Popen(["sleep", "600"])
            print("REPORT: up", flush=True)
            child.wait()
        """
        pid = 0
        up = asyncio.Event()

        async def work() -> None:
            nonlocal pid
            async with aclosing(
                MarkersRuntime().take_turn(a_turn(settings=running(source)))
            ) as events:
                async for event in events:
                    if isinstance(event, Started):
                        pid = event.process["pid"]
                    if isinstance(event, Reported):
                        up.set()

        task = asyncio.create_task(work())
        await up.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not process_groups.is_group_alive(pid, "")
        return pid

    assert asyncio.run(cancelled()) > 0


# Settings.


@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({}, "command", "Field required"),
        ({"command": "ls -l"}, "command", "valid list"),
        ({"command": []}, "command", "give the command to run"),
        ({"command": ["  "]}, "command", "give the command to run"),
        ({"command": ["a\0"]}, "command", "NUL"),
        ({"command": [1]}, "command", "valid string"),
        ({"command": ["ls"], "cwd": "here"}, "cwd", "starting with /"),
        ({"command": ["ls"], "env": {"A B": "1"}}, "env", "“A B” is not the name"),
        ({"command": ["ls"], "env": {"A": "\0"}}, "env", "value of A contains a NUL"),
        ({"command": ["ls"], "env_allow": ["$HOME"]}, "env_allow", "not the name"),
        ({"command": ["ls"], "env_allow": ["NEEDS_YOU_MARK"]}, "env_allow", "cannot be changed"),
        ({"command": ["ls"], "wall_clock_seconds": 0}, "wall_clock_seconds", "greater than 0"),
        ({"command": ["ls"], "wall_clock_seconds": float("nan")}, "wall_clock_seconds", ""),
        ({"command": ["ls"], "output_limit_bytes": 1}, "output_limit_bytes", "greater than"),
        ({"command": ["ls"], "format": "xml"}, "format", "'text' or 'acpx'"),
        ({"command": ["ls"], "comand": ["ls"]}, "comand", "not permitted"),
    ],
)
def test_settings_are_refused_with_the_field_and_the_reason(
    settings: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        MarkersSettings.model_validate(settings)
    [problem] = refused.value.errors()
    assert problem["loc"][0] == field
    assert words in problem["msg"]


def test_an_empty_folder_means_none() -> None:
    assert MarkersSettings(command=["ls"], cwd="").cwd is None


def test_the_settings_have_a_description_for_a_form() -> None:
    schema = MarkersSettings.model_json_schema()["properties"]
    assert all(field.get("description") for field in schema.values())
    assert os.fspath(schema["command"]["type"]) == "array"
