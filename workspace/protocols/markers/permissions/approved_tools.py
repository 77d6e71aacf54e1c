#!/usr/bin/env python3
"""Proxy between acpx and an agent: grant the permissions that the owner approved, and no others.

    acpx --approve-all --policy '{"escalate": ["execute"]}' --format json --json-strict \
         --agent "python3 .../approved_tools.py claude-agent-acp" exec -f -

acpx can only approve by a tool's name or title, which is broader than what the owner saw. For each
``session/request_permission`` this program asks the worker that runs the turn for a grant of exactly
that kind of call and that raw input; a title is the model's own words and decides nothing. The worker
records the grant as used before it answers, so no other turn can use it again. This program then
answers the request itself and reports to the worker how the tool ended. It passes all other traffic
through unchanged, so acpx escalates as usual.

    approved_tools.py --once OPERATION PARAMS -- COMMAND [ARGUMENT …]

runs a command once if exactly this was approved (PARAMS in JSON), and otherwise exits with 77.

It uses only the standard library, without Django, because it is started for every turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from typing import IO, Any, Protocol

#: Environment variable with the path of the worker's grant socket.
VARIABLE = "NEEDS_YOU_GRANTS"
#: Seconds to wait for the worker's answer.
PATIENCE = 120.0
NOT_APPROVED = 77


def main(argv: list[str]) -> int:
    if argv[:1] == ["--once"]:
        return run_once(argv[1:], Worker(os.environ.get(VARIABLE, "")))
    if not argv:
        sys.stderr.write("usage: approved_tools.py AGENT [ARGUMENT …]\n")
        return 2
    gate = GateProxy(Worker(os.environ.get(VARIABLE, "")))
    agent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    to_agent = _Writer(agent.stdin)
    threading.Thread(target=_pass_on, args=(sys.stdin.buffer, to_agent), daemon=True).start()
    to_acpx = _Writer(sys.stdout.buffer)
    for line in agent.stdout or ():
        answer = gate.answer(line)
        (to_acpx if answer is None else to_agent).write(line if answer is None else answer)
    return agent.wait()


def run_once(argv: list[str], worker: Grants) -> int:
    """Run a command if it is approved, and report its end. Return the exit code."""
    try:
        operation, params, dashes, *command = argv
        number = worker.take(operation, json.loads(params)) if command else None  # noqa: TID251  our own writing
    except ValueError:
        dashes, command = "", []
    if dashes != "--" or not command:
        sys.stderr.write("usage: approved_tools.py --once OPERATION PARAMS -- COMMAND …\n")
        return 2
    if number is None:
        sys.stderr.write(f"{operation}: nobody approved exactly this, or it has already begun.\n")
        return NOT_APPROVED
    code = subprocess.run(command, check=False).returncode
    worker.end(number, happened=code == 0)
    return code


class Grants(Protocol):
    """The source of grants."""

    def take(self, operation: object, params: object) -> int | None:
        """Redeem a grant for exactly this. Return its number, or None if there is none left."""
        ...

    def end(self, number: int, *, happened: bool) -> None:
        """Report how it ended."""
        ...


class Worker:
    """Client of the worker's grant socket: one line of JSON per request, one line per response."""

    def __init__(self, path: str) -> None:
        self._path = path

    def take(self, operation: object, params: object) -> int | None:
        number = self._ask({"take": operation, "params": params})
        return number if isinstance(number, int) else None

    def end(self, number: int, *, happened: bool) -> None:
        self._ask({"end": number, "happened": happened})

    def _ask(self, question: dict[str, object]) -> object:
        """Return the worker's response. None if it cannot be reached: then nothing is granted."""
        if not self._path:
            return None
        with contextlib.suppress(OSError, ValueError, RecursionError):
            line = json.dumps(question).encode() + b"\n"
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE)
                connection.connect(self._path)
                connection.sendall(line)
                return json.loads(connection.makefile("rb").readline(1000))  # noqa: TID251  our own writing
        return None


class GateProxy:
    """Answer permission requests that are approved, and report how the tools end."""

    def __init__(self, grants: Grants) -> None:
        self._grants = grants
        self._under_way: dict[str, int] = {}
        self._calls = KnownCalls()

    def answer(self, line: bytes) -> bytes | None:
        """Return the response to an approved request, or None to pass the line on to acpx."""
        try:
            message = json.loads(line)  # noqa: TID251  our own writing
            if message.get("method") == "session/update":
                self._listen(message["params"]["update"])
            if message.get("method") == "session/request_permission":
                params = message["params"]
                return self._permission(message["id"], params["toolCall"], params["options"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        return None

    def _permission(self, number: object, call: dict[str, Any], options: list[Any]) -> bytes | None:
        allow = next((one["optionId"] for one in options if one["kind"] == "allow_once"), None)
        call = self._calls.complete(call)
        taken = self._grants.take(operation_of(call), call.get("rawInput")) if allow else None
        if taken is None:
            return None
        self._under_way[str(call.get("toolCallId"))] = taken
        outcome = {"outcome": {"outcome": "selected", "optionId": allow}}
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": outcome}).encode() + b"\n"

    def _listen(self, update: dict[str, Any]) -> None:
        """Report a final status. Without one the end is unknown, and the owner is asked."""
        self._calls.complete(update)
        status = update.get("status")
        if status in ("completed", "failed"):
            taken = self._under_way.pop(str(update.get("toolCallId")), None)
            if taken is not None:
                self._grants.end(taken, happened=status == "completed")


class KnownCalls:
    """What the agent has told of its tool calls: a permission request may repeat only what changed."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}

    def complete(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return a call with the kind and the raw input that were told before, if it lacks them."""
        before = self._calls.get(str(call.get("toolCallId")), {})
        told = {name: call[name] for name in ("kind", "rawInput") if call.get(name) is not None}
        now = {**before, **told}
        if call.get("toolCallId") is not None:
            self._calls[str(call["toolCallId"])] = now
        return {**call, **now}


class _Writer:
    """A pipe that several threads may write to. Writes to a closed pipe are dropped."""

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


def operation_of(call: dict[str, Any]) -> str:
    """Return the operation of a call: its kind, such as ``execute``. Without one it is ``other``."""
    kind = call.get("kind")
    return kind.strip()[:60] if isinstance(kind, str) and kind.strip() else "other"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
