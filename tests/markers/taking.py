"""Plays acpx as far as grants are concerned: prompts the agent, and refuses what it asks itself.

    python taking.py PROMPT AGENT [ARGUMENT …]

Prints every frame that the agent sends.
"""

from __future__ import annotations

import json
import subprocess
import sys


def main(prompt: str, *agent: str) -> int:
    sys.stdin.read()
    spoken = subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert spoken.stdin is not None
    assert spoken.stdout is not None
    text = {"prompt": [{"type": "text", "text": prompt}]}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": text})
    print(asked, file=spoken.stdin, flush=True)
    _show(asked + "\n")
    for line in spoken.stdout:
        _show(line)
        frame = json.loads(line)
        if frame.get("method") == "session/request_permission":
            refused = {"id": frame["id"], "result": {"outcome": {"optionId": "r"}}}
            print(json.dumps(refused), file=spoken.stdin, flush=True)
        if "stopReason" in frame.get("result", {}):
            break
    spoken.stdin.close()
    return spoken.wait()


def _show(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
