"""The markers runtime with the real acpx (npm, on a Node of its own) and an agent behind it.

    python -m tests.conformance.markers [--npm FOLDER]

Installs acpx 0.19.1 and Node 24 from npm into FOLDER (kept), or into a temporary folder. Prints a
line for each check and ``N passed, N failed`` at the end; the exit code is 0 if none failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import django

PACKAGES = ("acpx@0.19.1", "node@24")
HERE = Path(__file__).resolve().parent
MOCK = HERE / "markers" / "mock_acp_agent.py"
ESCALATE = json.dumps({"escalate": ["execute"]})


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0

    def check(self, what: str, holds: object) -> None:
        self.passed += bool(holds)
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)


@dataclass
class Acpx:
    """An installed acpx with a home and a working folder of its own."""

    modules: Path
    folder: Path
    tally: Tally = field(default_factory=Tally)

    def settings(self, agent: str, *how: str, **more: Any) -> dict[str, Any]:
        """Settings of an agent that runs behind acpx."""
        node, cli = self.modules / "node/bin/node", self.modules / "acpx/dist/cli.js"
        flags = ["--approve-all", "--policy", ESCALATE, "--format", "json", "--json-strict"]
        return {
            "command": [str(node), str(cli), "--timeout", "60", *flags, "--agent", agent, *how],
            "cwd": str(self.folder),
            "env": {"HOME": str(self.folder), "PATH": os.environ.get("PATH", os.defpath)},
            "format": "acpx",
            **more,
        }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--npm", type=Path, help="a folder to keep acpx and Node in")
    given = options.parse_args()
    if shutil.which("npm") is None:
        print("npm is not installed, so acpx cannot be tried here.", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    # Only the code is needed, no database; what imports models must come after this line.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    django.setup()
    with _folder(given.npm) as npm, tempfile.TemporaryDirectory() as work:
        acpx = Acpx(_install(npm), Path(work))
        for scene in SCENES:
            scene(acpx)
    print(f"{acpx.tally.passed} passed, {acpx.tally.failed} failed")
    return 1 if acpx.tally.failed else 0


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()  # turns run in folders of their own
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _install(folder: Path) -> Path:
    modules = folder / "node_modules"
    if not (modules / "acpx").exists():
        quiet = ["--no-audit", "--no-fund", "--loglevel", "error"]
        subprocess.run(["npm", "install", *quiet, *PACKAGES], cwd=folder, check=True)
    return modules


class Approved:
    """Grants without a database: exactly what it was made with, each once."""

    def __init__(self, *actions: tuple[str, Any]) -> None:
        self.left = list(actions)
        self.ended: list[tuple[int, bool]] = []

    async def take(self, operation: str, params: Any) -> int | None:
        if (operation, params) not in self.left:
            return None
        self.left.remove((operation, params))
        return 7

    async def end(self, number: int, *, happened: bool) -> None:
        self.ended.append((number, happened))


def _take(
    chosen: dict[str, Any], mission: str, book: Approved | None = None, **more: Any
) -> list[Any]:
    """The events of one turn."""
    from workspace.protocols.markers.runtime import MarkersRuntime

    async def events_of() -> list[Any]:
        turn, grants = _turn(chosen, mission, **more), book or Approved()
        async with aclosing(MarkersRuntime(lambda _: grants).take_turn(turn)) as events:
            return [event async for event in events]

    return asyncio.run(events_of())


def _turn(chosen: dict[str, Any], mission: str, **more: Any) -> Any:
    from agents.running.runtime import AgentFacts, Turn

    agent = AgentFacts("conf-markers", "Conformance", "", mission, "", "markers", chosen)
    facts = {"run_id": 1, "session_id": 1, "number": 1, "epoch": 1, "cause": "human"}
    return Turn(agent=agent, **{**facts, **more})


def _texts(events: list[Any], kind: str) -> list[str]:
    return [event.text for event in events if type(event).__name__ == kind]


def _nothing_left(events: list[Any]) -> bool:
    from agents.running import process_groups

    started = next(event for event in events if type(event).__name__ == "Started")
    return not process_groups.is_group_alive(started.process["pgid"], started.process["mark"])


def _mock() -> str:
    return f"{sys.executable} {MOCK}"


def a_whole_turn(acpx: Acpx) -> None:
    events = _take(acpx.settings(_mock(), "exec", "-f", "-"), "Say hello.")
    ended = events[-1]
    check = acpx.tally.check
    check("exec: the outcome is read", ended.outcome == "BLOCKED")
    check("exec: the question has its options", _labels(ended) == [["eu", "us"]])
    check("exec: the report lands once", _texts(events, "Reported") == ["héllo one"])
    check("exec: thoughts ask nothing", len(ended.asks) == 1)
    check("exec: the tool is a step", any(type(e).__name__ == "Step" for e in events))
    check("exec: usage is told", any(type(e).__name__ == "Usage" for e in events))
    check("exec: no process is left", _nothing_left(events))


def _labels(ended: Any) -> list[list[str]]:
    return [[option.label for option in ask.options] for ask in ended.asks]


def a_named_session(acpx: Acpx) -> None:
    chosen = acpx.settings(_mock(), "prompt", "-s", "conf", "-f", "-")
    ensure = acpx.settings(_mock(), "sessions", "ensure", "--name", "conf")
    subprocess.run(
        ensure["command"], cwd=ensure["cwd"], env=ensure["env"], check=True, capture_output=True
    )
    for number in (1, 2):
        events = _take(chosen, f"Say hello, turn {number}.")
        ended = events[-1]
        acpx.tally.check(f"session, turn {number}: complete", ended.outcome == "BLOCKED")
        reported = _texts(events, "Reported")
        acpx.tally.check(f"session, turn {number}: only its own words", reported == ["héllo one"])
        acpx.tally.check(f"session, turn {number}: no process is left", _nothing_left(events))


def an_escalated_permission(acpx: Acpx) -> None:
    from agents.running.runtime import Given
    from workspace.protocols.markers.permissions import approved_tools

    gate = f"{sys.executable} {approved_tools.__file__} {_mock()}"
    chosen = acpx.settings(gate, "exec", "-f", "-")
    check = acpx.tally.check
    first = _take(chosen, "Use perm.")
    bound = [ask.action for ask in first[-1].asks if ask.action]
    check("escalation: the turn is complete though acpx exits 5", first[-1].outcome == "BLOCKED")
    check("escalation: one approval", [one.operation for one in bound] == ["execute"])
    check("escalation: bound to the input", [o.params for o in bound] == [{"command": "rm -rf x"}])
    check("escalation: refused meanwhile", "permission: r" in "".join(_texts(first, "Said")))
    data = {"operation": "execute", "params": {"command": "rm -rf x"}, "meaning": "approve"}
    approved = (Given("verdict", "human:owner", "Allow once", {"option": "allow", **data}),)
    book = Approved(("execute", {"command": "rm -rf x"}))
    other = _take(chosen, "Use perm again.", book, given=approved)
    check("approved: nothing else is", "permission: r" in "".join(_texts(other, "Said")))
    check("approved: that is asked", [a.action.params for a in other[-1].asks if a.action])
    second = _take(chosen, "Use perm.", book, given=approved)
    check("approved: given in the next turn", "permission: a" in "".join(_texts(second, "Said")))
    check("approved: not asked again", not [ask for ask in second[-1].asks if ask.action])
    check("approved: how it ended is told", book.ended == [(7, True)])
    third = _take(chosen, "Use perm.", book, given=approved)
    check("approved: never given twice", "permission: r" in "".join(_texts(third, "Said")))


def what_breaks(acpx: Acpx) -> None:
    check = acpx.tally.check
    chosen = acpx.settings(_mock(), "exec", "-f", "-")
    limited = _take(chosen, "errorout")[-1]
    check("error frame: a rate limit", limited.outcome == "RATE_LIMITED" and limited.retry_at)
    crashed = _take(chosen, "crash")[-1]
    check("crash: to be tried again", crashed.outcome == "RETRYABLE_ERROR" and crashed.error)
    missing = _take(acpx.settings("no-such-agent-here", "exec", "-f", "-"), "hello")[-1]
    check("no agent: to be tried again, in words", "no-such-agent-here" in missing.error)
    hung = _take(acpx.settings(_mock(), "exec", "-f", "-", wall_clock_seconds=8), "hang")
    check("hang: ended by the wall clock", "ran longer than 8 seconds" in hung[-1].error)
    check("hang: what it reported has landed", _texts(hung, "Reported") == ["hanging"])
    check("hang: no process is left", _nothing_left(hung))


def a_cancelled_turn(acpx: Acpx) -> None:
    events: list[Any] = []

    async def cancelled() -> None:
        from workspace.protocols.markers.runtime import MarkersRuntime

        turn = _turn(acpx.settings(_mock(), "exec", "-f", "-"), "hang")
        async with aclosing(MarkersRuntime(lambda _: Approved()).take_turn(turn)) as coming:
            async for event in coming:
                events.append(event)
                if type(event).__name__ == "Reported":
                    return

    asyncio.run(cancelled())
    acpx.tally.check("cancelled: no process is left", _nothing_left(events))


SCENES: tuple[Callable[[Acpx], None], ...] = (
    a_whole_turn,
    a_named_session,
    an_escalated_permission,
    what_breaks,
    a_cancelled_turn,
)

if __name__ == "__main__":
    sys.exit(main())
