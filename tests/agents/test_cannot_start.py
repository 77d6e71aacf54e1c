"""What an agent's settings name is missing: every local runtime says that it cannot start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.lifecycle import Outcome
from agents.running import runtime
from agents.running.runtime import AgentFacts, Ended, Turn

NOWHERE = "/srv/needs-you-has-no-such-folder"
UNSTARTABLE: list[tuple[str, dict[str, Any]]] = [
    ("markers", {"command": ["true"], "cwd": NOWHERE}),
    ("markers", {"command": [f"{NOWHERE}/agent"]}),
    ("markers", {"command": ["needs-you-has-no-such-command"]}),
    ("markers", {"command": []}),
    ("eve", {"agent": "needs_you_has.no_such_module:agent"}),
    ("eve", {}),
    ("leaf-remote", {}),
    ("eve-remote", {}),
    ("responses-remote", {}),
]


def end_of(key: str, settings: dict[str, Any]) -> Ended:
    """Take one turn of a runtime and return its end."""
    facts = AgentFacts("it", "It", "", "", "", key, settings)
    turn = Turn(run_id=1, session_id=1, number=1, epoch=1, cause="human", agent=facts)

    async def take() -> list[object]:
        return [event async for event in runtime.find_runtime(key).take_turn(turn)]

    last = asyncio.run(take())[-1]
    assert isinstance(last, Ended)
    return last


@pytest.mark.parametrize(("key", "settings"), UNSTARTABLE, ids=str)
def test_it_cannot_start(key: str, settings: dict[str, Any]) -> None:
    ended = end_of(key, settings)
    assert (ended.outcome, ended.cannot_start) == (Outcome.RETRYABLE_ERROR, True)
    assert ended.error


def test_a_command_that_fails_has_started(tmp_path: Path) -> None:
    ended = end_of("markers", {"command": ["false"], "cwd": str(tmp_path)})
    assert (ended.outcome, ended.cannot_start) == (Outcome.RETRYABLE_ERROR, False)
