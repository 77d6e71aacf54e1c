#!/usr/bin/env python3
"""An agent of the Agent Client Protocol that plays scenes, for acpx to drive.

The words of its prompt choose the scene: ``perm`` asks for a permission (``perm again`` for another
one, ``perm twice`` for it two times, ``perm lost`` dies with it in hand), ``hang`` never ends,
``crash`` dies, ``errorout`` answers with a rate limit. Each other turn ends with a question.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any, NoReturn

Message = dict[str, Any]

OPTIONS = [
    {"optionId": "a", "name": "Allow", "kind": "allow_once"},
    {"optionId": "r", "name": "Reject", "kind": "reject_once"},
]
CAPABILITIES = {"loadSession": True, "promptCapabilities": {"image": False}}


class Agent:
    def __init__(self) -> None:
        self.session = f"sess-{uuid.uuid4().hex[:8]}"
        self.requests = 100
        self.forgetful = False

    def serve(self) -> NoReturn:
        while True:
            self.handle(_hear())

    def handle(self, message: Message) -> None:
        method, number = message.get("method"), message.get("id")
        params = message.get("params", {})
        if method == "initialize":
            _answer(number, {"protocolVersion": 1, "agentCapabilities": CAPABILITIES})
        elif method == "session/new":
            _answer(number, {"sessionId": self.session})
        elif method == "session/load":
            self.session = params["sessionId"]
            _answer(number, {})
        elif method == "session/prompt":
            self.play("".join(part.get("text", "") for part in params["prompt"]), number)
        elif number is not None:
            _say({"id": number, "error": {"code": -32601, "message": "Method not found"}})

    def play(self, prompt: str, number: object) -> None:
        self.forgetful = "perm lost" in prompt
        if "hang" in prompt:
            self.text("REPORT: hanging\n")
            time.sleep(600)
        if "crash" in prompt:
            sys.exit(9)
        if "errorout" in prompt:
            data = {"details": "429 rate limit, resets in 2h30m"}
            _say({"id": number, "error": {"code": -32603, "message": "Internal", "data": data}})
            return
        self.update("agent_thought_chunk", content={"type": "text", "text": "ASK: thinking?"})
        self.text("REPORT: héllo one\n")
        if "perm" in prompt:
            self.ask_permission("rm -rf y" if "perm again" in prompt else "rm -rf x")
            if "perm twice" in prompt:
                self.ask_permission("rm -rf x")
            if "perm lost" in prompt:
                sys.exit(9)
        self.update("tool_call", **_call("t2", "ls", "pending"))
        self.update("tool_call_update", **_call("t2", "ls", "completed"))
        self.update("usage_update", used=123, size=1000)
        self.text("ASK: Which region?\nOPTIONS: eu | us\nOUTCOME: BLOCKED\n")
        _answer(number, {"stopReason": "end_turn"})

    def ask_permission(self, command: str) -> None:
        call = _call("t1", f"Bash: {command}", "pending") | {"rawInput": {"command": command}}
        asked = {"sessionId": self.session, "toolCall": call, "options": OPTIONS}
        chosen = self.request("session/request_permission", asked)["outcome"].get("optionId")
        self.text(f"permission: {chosen}\n")
        if chosen == "a" and not self.forgetful:
            self.update("tool_call_update", **call | {"status": "completed"})

    def request(self, method: str, params: Message) -> Message:
        self.requests += 1
        _say({"id": self.requests, "method": method, "params": params})
        while True:
            message = _hear()
            if message.get("id") == self.requests and "method" not in message:
                return dict(message.get("result", {}))
            self.handle(message)

    def text(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def update(self, kind: str, /, **more: Any) -> None:
        update = {"sessionUpdate": kind, **more}
        params = {"sessionId": self.session, "update": update}
        _say({"method": "session/update", "params": params})


def _call(call_id: str, title: str, status: str) -> Message:
    given = {"command": title}
    kinds = {"kind": "execute", "status": status}
    return {"toolCallId": call_id, "title": title, "rawInput": given, **kinds}


def _answer(number: object, result: Message) -> None:
    _say({"id": number, "result": result})


def _say(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def _hear() -> Message:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return dict(json.loads(line))


if __name__ == "__main__":
    Agent().serve()
