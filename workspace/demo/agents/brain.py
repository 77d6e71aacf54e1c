#!/usr/bin/env python3
"""A scripted brain: the request, JSON in its prompt, names the scenario to play.

It reads its prompt from standard input, works in the current directory, reports its steps and cost
as JSON lines, and writes hitl_request.json if it needs a person. Every turn first loads a ledger
into a file and reconciles it; a turn that continues with an answer needs that file again.

It uses only the standard library, like any program a user might write.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUESTION_FILE = Path("hitl_request.json")
LEDGER = Path("ledger.json")
ASKS = {
    "request_id": "ledger-choice",
    "question": "Which ledger: EU or US?",
    "options": ["EU", "US"],
}
PAYS = {"operation": "pay", "params": {"invoice": 7, "amount": "12.50"}}
_REQUEST = re.compile(r"^# Request\n\n(.*)$", re.MULTILINE)
_ANSWER = re.compile(r"^# The answer\n\n(.*: (\"(?:[^\"\\]|\\.)*\"))", re.MULTILINE)


def main() -> None:
    prompt = sys.stdin.read()
    request = json.loads(_REQUEST.findall(prompt)[-1])
    scenario = str(request.get("scenario", "plain"))
    answered = _ANSWER.search(prompt)
    reconcile(resumed=answered is not None)
    report(type="cost", usd=0.60 if scenario == "expensive" else 0.40)
    if answered is None:
        SCENARIOS.get(scenario, plain)(request)
    else:
        resume(request, answered[1], json.loads(answered[2]))
    tokens = {"input_tokens": len(prompt) // 4, "output_tokens": 40}
    report(type="result", usage=tokens)


def report(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def reconcile(*, resumed: bool) -> None:
    """Do the work of every turn. A ledger that an earlier turn saved may be gone; load it again."""
    report(type="step", name="load_ledger", arguments={"rows": 3})
    rederived = resumed and not LEDGER.exists()
    LEDGER.write_text(json.dumps({"rows": 3}))
    report(type="step", name="reconcile", arguments={"rederived": rederived})


def resume(request: dict[str, Any], clause: str, answer: str) -> None:
    date = request["target_date"]
    if request["scenario"] == "ask_twice" and answer not in ("yes", "no"):
        ask(request_id="publish", question=f"Publish the report for {date}?", options=["yes", "no"])
    else:
        report(type="text", text=f"Reconciled {answer} for {date}. [{clause}]")


def ask(**question: Any) -> None:
    QUESTION_FILE.write_text(json.dumps(question))


def plain(request: dict[str, Any]) -> None:
    report(type="text", text=f"Nothing to decide. {request.get('text', '')}".strip())


def slow(request: dict[str, Any]) -> None:
    for second in range(10):
        report(type="text", text=f"{second} ")
        time.sleep(1)
    plain(request)


def explode(request: dict[str, Any]) -> None:
    raise RuntimeError(f"exploded on purpose: {request['scenario']}")


def run_directory_gone(_: dict[str, Any]) -> None:
    shutil.rmtree(Path.cwd())


def symlink(_: dict[str, Any]) -> None:
    Path("elsewhere.json").write_text(json.dumps(ASKS))
    QUESTION_FILE.symlink_to("elsewhere.json")


def asking(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return a scenario that asks which ledger, with fields changed; None omits a field."""
    question = {name: value for name, value in (ASKS | changes).items() if value is not None}
    return lambda _: ask(**question)


def writing(text: str) -> Callable[[dict[str, Any]], object]:
    return lambda _: QUESTION_FILE.write_text(text)


SCENARIOS: dict[str, Callable[[dict[str, Any]], object]] = {
    "plain": plain,
    "expensive": plain,
    "slow": slow,
    "explode": explode,
    "ask": asking(),
    "ask_twice": asking(),
    "ask_free": asking(options=None),
    "approve": asking(question="Pay the invoice?", options=None, action=PAYS),
    "bad_id": asking(request_id="../../etc passwd"),
    "long_option": asking(options=["EU", "U" * 41]),
    "path_option": asking(options=["EU", "see /srv/ledgers/us.csv"]),
    "odd_question": asking(question="May I write to alice@example.com about it?"),
    "bad_options": asking(options="EU or US"),
    "no_question": asking(question="  "),
    "malformed": writing("{not json"),
    "not_object": writing("[1]"),
    "unreadable": lambda _: QUESTION_FILE.mkdir(),
    "symlink": symlink,
    "fifo": lambda _: os.mkfifo(QUESTION_FILE),
    "dir_gone": run_directory_gone,
}


if __name__ == "__main__":
    main()
