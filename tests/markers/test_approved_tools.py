"""What the owner approved is given to the agent exactly, once, and nothing wider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workspace.protocols.markers import approved_tools
from workspace.protocols.markers.approved_tools import Gate

MOCK = Path(__file__).parents[1] / "conformance/markers/mock_acp_agent.py"
BASH = {"operation": "Bash", "params": {"command": "rm -rf x"}}
OPTIONS = [{"optionId": "a", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}]


def request(title: str, given: Any, number: int = 101, **more: Any) -> bytes:
    params = {"toolCall": {"title": title, "rawInput": given}, "options": OPTIONS, **more}
    asked = {"id": number, "method": "session/request_permission", "params": params}
    return json.dumps(asked).encode()


def test_exactly_what_was_approved_is_given_and_only_once() -> None:
    gate = Gate([BASH])
    answer = gate.answer(request("Bash: rm -rf x", BASH["params"]))
    assert answer is not None
    assert json.loads(answer) == {
        "jsonrpc": "2.0",
        "id": 101,
        "result": {"outcome": {"outcome": "selected", "optionId": "a"}},
    }
    assert gate.answer(request("Bash: rm -rf x", BASH["params"])) is None


@pytest.mark.parametrize(
    ("title", "given"),
    [
        ("Bash: rm -rf X", {"command": "rm -rf X"}),
        ("Bash: rm -rf x", {"command": "rm -rf x", "cwd": "/"}),
        ("Bash: rm -rf x", None),
        ("Edit: rm -rf x", {"command": "rm -rf x"}),
        ("Bash: rm -rf x", {"command": "rm -rf x", "name": "Other"}),
    ],
)
def test_anything_else_is_left_to_acpx(title: str, given: Any) -> None:
    assert Gate([BASH]).answer(request(title, given)) is None


def test_true_is_not_one_and_order_does_not_matter() -> None:
    approved = [{"operation": "T", "params": {"a": 1, "b": [True]}}]
    assert Gate(approved).answer(request("T", {"a": True, "b": [1]})) is None
    assert Gate(approved).answer(request("T", {"b": [True], "a": 1})) is not None


def test_without_a_way_to_allow_once_nothing_is_given() -> None:
    always = [{"optionId": "a", "kind": "allow_always"}]
    assert Gate([BASH]).answer(request("Bash", BASH["params"], options=always)) is None


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"params": 1}', b'{"method": "x"}'])
def test_other_lines_pass(line: bytes) -> None:
    assert Gate([BASH]).answer(line) is None


@pytest.mark.parametrize(("approved", "option"), [([BASH], "a"), ([], None)])
def test_between_a_client_and_a_real_agent(
    tmp_path: Path, approved: list[dict[str, Any]], option: str | None
) -> None:
    """The agent asks for a permission: it has it from us, or the request comes through to us."""
    (tmp_path / "approved.json").write_text(json.dumps(approved))
    gate = subprocess.Popen(
        [sys.executable, approved_tools.__file__, sys.executable, str(MOCK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.defpath, "NEEDS_YOU_APPROVED": str(tmp_path / "approved.json")},
    )
    assert gate.stdin is not None
    assert gate.stdout is not None
    prompt = {"prompt": [{"type": "text", "text": "perm"}]}
    gate.stdin.write(json.dumps({"id": 1, "method": "session/prompt", "params": prompt}) + "\n")
    gate.stdin.flush()
    said = ""
    for line in gate.stdout:
        frame = json.loads(line)
        if frame.get("method") == "session/request_permission":
            assert option is None
            refused = {"id": frame["id"], "result": {"outcome": {"optionId": "r"}}}
            gate.stdin.write(json.dumps(refused) + "\n")
            gate.stdin.flush()
        said += json.dumps(frame)
        if "stopReason" in frame.get("result", {}):
            break
    gate.communicate()
    assert f"permission: {option or 'r'}" in said
    assert gate.returncode == 0
