"""What stands between acpx and an agent gives exactly what the worker grants, and tells how it ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workspace.protocols.markers.permissions.approved_tools import GateProxy, Worker, run_once

COMMAND = {"command": "rm -rf x"}
OPTIONS = [{"optionId": "a", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}]


class Granted:
    """Grants in memory: each of these once."""

    def __init__(self, *actions: tuple[object, object]) -> None:
        self.left = list(actions)
        self.ended: list[tuple[int, bool]] = []

    def take(self, operation: object, params: object) -> int | None:
        if (operation, params) not in self.left:
            return None
        self.left.remove((operation, params))
        return len(self.left)

    def end(self, number: int, *, happened: bool) -> None:
        self.ended.append((number, happened))


def request(
    title: str, given: Any, number: int = 101, kind: str | None = "execute", **more: Any
) -> bytes:
    call = {"toolCallId": "t1", "title": title, "rawInput": given, "kind": kind}
    params = {"toolCall": call, "options": OPTIONS, "sessionId": "s", **more}
    asked = {"id": number, "method": "session/request_permission", "params": params}
    return json.dumps(asked).encode()


def update(status: str, call: str = "t1") -> bytes:
    told = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}
    return json.dumps({"method": "session/update", "params": {"update": told}}).encode()


def test_exactly_what_was_approved_is_given_and_only_once() -> None:
    gate = GateProxy(Granted(("execute", COMMAND)))
    answer = gate.answer(request("Bash: rm -rf x", COMMAND))
    assert answer is not None
    assert json.loads(answer) == {
        "jsonrpc": "2.0",
        "id": 101,
        "result": {"outcome": {"outcome": "selected", "optionId": "a"}},
    }
    assert gate.answer(request("Bash: rm -rf x", COMMAND)) is None


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("execute", {"command": "rm -rf X"}),
        ("execute", {"command": "rm -rf x", "cwd": "/"}),
        ("execute", None),
        ("edit", COMMAND),
        (None, COMMAND),
        ("execute", {**COMMAND, "name": "execute"}),
    ],
)
def test_anything_else_is_left_to_acpx(kind: str | None, given: Any) -> None:
    granted = Granted(("execute", COMMAND))
    assert GateProxy(granted).answer(request("execute: rm -rf x", given, kind=kind)) is None
    assert granted.left


@pytest.mark.parametrize("title", ["Bash: rm -rf x", "ls", "read it", ""])
def test_the_title_of_a_call_decides_nothing(title: str) -> None:
    assert GateProxy(Granted(("execute", COMMAND))).answer(request(title, COMMAND)) is not None
    assert (
        GateProxy(Granted((title.partition(" ")[0], COMMAND))).answer(request(title, COMMAND))
        is None
    )


def test_a_request_that_repeats_only_the_id_is_of_the_call_that_was_told() -> None:
    """The protocol needs no more than the id of a call that was announced before."""
    gate = GateProxy(Granted(("execute", COMMAND)))
    told = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "kind": "execute",
        "rawInput": COMMAND,
    }
    line = json.dumps({"method": "session/update", "params": {"update": told}}).encode()
    assert gate.answer(line) is None
    assert gate.answer(request("", None, kind=None)) is not None


def test_without_a_way_to_allow_once_nothing_is_taken() -> None:
    granted = Granted(("execute", COMMAND))
    always = [{"optionId": "a", "kind": "allow_always"}]
    assert GateProxy(granted).answer(request("Bash", COMMAND, options=always)) is None
    assert granted.left


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"params": 1}', b'{"method": "x"}'])
def test_other_lines_pass(line: bytes) -> None:
    assert GateProxy(Granted(("execute", COMMAND))).answer(line) is None


@pytest.mark.parametrize(
    ("updates", "ended"),
    [
        ([update("completed")], [(0, True)]),
        ([update("failed")], [(0, False)]),
        ([update("in_progress"), update("completed", "t2")], []),
        ([update("completed"), update("failed")], [(0, True)]),
    ],
)
def test_how_it_ended_is_what_the_agent_says_of_that_call(
    updates: list[bytes], ended: list[tuple[int, bool]]
) -> None:
    granted = Granted(("execute", COMMAND))
    gate = GateProxy(granted)
    assert gate.answer(update("completed")) is None
    gate.answer(request("Bash", COMMAND))
    assert [gate.answer(line) for line in updates] == [None] * len(updates)
    assert granted.ended == ended


@pytest.mark.parametrize("path", ["", "/nowhere/at/all"])
def test_nobody_to_ask_gives_nothing(path: str) -> None:
    assert Worker(path).take("Bash", COMMAND) is None


class TestOnce:
    """A command that runs if exactly this was approved."""

    @pytest.mark.parametrize(("code", "happened"), [(0, True), (3, False)])
    def test_it_runs_once_and_its_exit_says_how_it_went(self, code: int, happened: bool) -> None:
        granted = Granted(("pay", {"amount": 5}))
        words = ["pay", '{"amount": 5}', "--", "sh", "-c", f"exit {code}"]
        assert run_once(words, granted) == code
        assert granted.ended == [(0, happened)]
        assert run_once(words, granted) == 77

    @pytest.mark.parametrize(
        "words",
        [[], ["pay"], ["pay", "{", "--", "true"], ["pay", "{}", "true"], ["pay", "{}", "--"]],
    )
    def test_anything_that_is_no_such_command_line_is_refused(self, words: list[str]) -> None:
        assert run_once(words, Granted(("pay", {}))) == 2
