#!/usr/bin/env python3
"""Stands between acpx and an agent and gives the permissions that the owner approved, no others.

    acpx --approve-all --policy '{"escalate": ["execute"]}' --format json --json-strict \
         --agent "python3 .../approved_tools.py claude-agent-acp" exec -f -

acpx can only approve by a tool's name or title, which is wider than what an owner was shown. This
program answers a ``session/request_permission`` itself if it is for exactly a tool and an input
that the owner approved for this turn (the file that NEEDS_YOU_APPROVED names), once each. All other
traffic passes through unchanged, so acpx escalates as before.

Standard library only, no Django: it is started for every turn.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any


def main(argv: list[str]) -> int:
    if not argv:
        sys.stderr.write("usage: approved_tools.py AGENT [ARGUMENT …]\n")
        return 2
    gate = Gate(_approved())
    agent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    to_agent = _Writer(agent.stdin)
    threading.Thread(target=_pass_on, args=(sys.stdin.buffer, to_agent), daemon=True).start()
    to_acpx = _Writer(sys.stdout.buffer)
    for line in agent.stdout or ():
        answer = gate.answer(line)
        (to_acpx if answer is None else to_agent).write(line if answer is None else answer)
    return agent.wait()


class Gate:
    """Knows what is approved, and lets each approval be used once."""

    def __init__(self, approved: list[dict[str, Any]]) -> None:
        self._left = [_exactly(one.get("operation"), one.get("params")) for one in approved]

    def answer(self, line: bytes) -> bytes | None:
        """The agent's answer for a request that is approved, or None: then acpx decides."""
        try:
            request = json.loads(line)
            call, options = request["params"]["toolCall"], request["params"]["options"]
            asked = _exactly(_tool(call), call.get("rawInput"))
            allow = next(one["optionId"] for one in options if one["kind"] == "allow_once")
        except (ValueError, LookupError, TypeError, AttributeError, StopIteration, RecursionError):
            return None
        if request.get("method") != "session/request_permission" or asked not in self._left:
            return None
        self._left.remove(asked)
        outcome = {"outcome": {"outcome": "selected", "optionId": allow}}
        answer = {"jsonrpc": "2.0", "id": request.get("id"), "result": outcome}
        return json.dumps(answer).encode() + b"\n"


class _Writer:
    """One of the two pipes; two threads write to the agent's. A closed one swallows the rest."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def write(self, line: bytes) -> None:
        with self._lock:
            try:
                if self._pipe and not self._pipe.closed:
                    self._pipe.write(line)
                    self._pipe.flush()
            except BrokenPipeError:
                self._pipe = None

    def close(self) -> None:
        with self._lock:
            try:
                if self._pipe:
                    self._pipe.close()
            except BrokenPipeError:
                self._pipe = None


def _pass_on(lines: IO[bytes], to_agent: _Writer) -> None:
    for line in lines:
        to_agent.write(line)
    to_agent.close()


def _tool(call: dict[str, Any]) -> str:
    """The tool's name as acpx tells it in an escalation, and hence as the owner approved it."""
    given = call.get("rawInput")
    if isinstance(given, dict):
        for key in ("name", "tool", "toolName"):
            if isinstance(given.get(key), str) and given[key].strip():
                return str(given[key]).strip()
    title = (call.get("title") or "").strip()
    return re.split(r"[:\s]", title, maxsplit=1)[0].strip() or str(call.get("kind") or "") or "tool"


def _exactly(tool: object, given: object) -> str:
    """Equal for the same tool and input only: for Python 1, 1.0 and True would be one."""
    return json.dumps([tool, given], sort_keys=True)


def _approved() -> list[dict[str, Any]]:
    path = os.environ.get("NEEDS_YOU_APPROVED")
    return list(json.loads(Path(path).read_text())) if path else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
