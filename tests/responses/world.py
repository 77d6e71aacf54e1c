"""Hybrid agents with brains of a test's own, and callers of theirs, in the test's own transaction.

The door's synchronous side is called directly: what HTTP adds to it is tested against a real server.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.test import RequestFactory

from agents import claims, settlement
from agents.lifecycle import AgentState, RunStatus
from agents.models import Agent, Run
from agents.registration import register_agent
from agents.running.runtime import Ended, Turn, TurnEvent
from agents.running.transcript import Transcript
from asks.models import Ask
from tests.responses.strict import check_events, check_response
from workspace.accounts import api_keys
from workspace.demo.worlds import PROGRAMS
from workspace.protocols.responses.agent.runtime import ResponsesRuntime, runs_folder
from workspace.protocols.responses.errors import ResponsesProblem
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import service
from workspace.protocols.responses.server.events import body_of

ALL = ("run:create", "run:read", "ask:create", "ask:answer")
REQUEST = {"mode": "run", "target_date": "2026-10-16", "dry_run": False}
SCRIPTED = [sys.executable, str(PROGRAMS / "brain.py")]
QUESTIONS = [r"Which ledger: EU or US\?", r"Publish the report for \d{4}-\d{2}-\d{2}\?"]
REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,50}\.[0-9a-f]{12}")


def hybrid_agent(owner: User, slug: str = "closer", **settings: Any) -> Agent:
    """An active agent that plays the scripted brain and may ask, unless settings say otherwise."""
    usual = {
        "command": SCRIPTED,
        "hitl": True,
        "hitl_questions": QUESTIONS,
        "max_usd_per_run": 0.5,
        "request_may_tighten": True,
        "simulate_suspension": True,
    }
    return register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="responses",
        settings=usual | settings,
        lifecycle=AgentState.ACTIVE,
    )


def brain(folder: Path, script: str) -> list[str]:
    """A command that plays a Python script; ``prompt`` holds what it was told."""
    path = folder / f"brain-{len(list(folder.iterdir()))}.py"
    head = "import json, os, pathlib, sys, time\nprompt = sys.stdin.read()\n"
    path.write_text(head + textwrap.dedent(script))
    return [sys.executable, str(path)]


def question(**fields: Any) -> str:
    """A script that asks; without fields it asks which ledger."""
    asked = fields or {"request_id": "ledger", "question": "Which?", "options": ["EU", "US"]}
    return f"pathlib.Path('hitl_request.json').write_text({json.dumps(json.dumps(asked))})\n"


def key_for(
    agent: Agent | None,
    person: User | None,
    scopes: Sequence[str] = ALL,
    name: str = "caller",
) -> str:
    return api_keys.create_key(name=name, scopes=scopes, agent=agent, person=person)[1]


class Refused(Exception):
    """What the door said no with."""

    def __init__(self, problem: ResponsesProblem) -> None:
        super().__init__(problem.message)
        self.status, self.code, self.param = problem.status, problem.code, problem.param
        self.headers = problem.headers


class Caller:
    """A client of /v1/responses with a key of its own."""

    def __init__(self, token: str) -> None:
        self._requests = RequestFactory(headers={"Authorization": f"Bearer {token}"})

    def send(self, path: str = "/v1/responses", **body: Any) -> dict[str, Any]:
        """Create a response and leave its run in the queue. Raises Refused."""
        raw = json.dumps(body).encode()
        request = self._requests.post(path, raw, content_type="application/json")
        try:
            made = service.create_response(request, raw).response
            return stored(made.public_id)
        except ResponsesProblem as problem:
            raise Refused(problem) from problem

    def create(self, request: object = None, **more: Any) -> dict[str, Any]:
        """Create a response and let all that is queued run; the response as it is then."""
        if request is not None:
            more["input"] = request if isinstance(request, str) else json.dumps(request)
        made = self.send(**more)
        carry_all()
        return body(made["id"])

    def ask(self, scenario: str = "ask", **more: Any) -> dict[str, Any]:
        return self.create(REQUEST | {"scenario": scenario, **more})

    def answer(self, paused: dict[str, Any], output: object, **more: Any) -> dict[str, Any]:
        return self.create(
            previous_response_id=paused["id"],
            input=[result(asked(paused)["call_id"], output)],
            **more,
        )

    def call(self, what: Callable[..., Any], public_id: str, **query: str) -> Any:
        """One of the door's other verbs."""
        try:
            found = what(self._requests.get(f"/v1/responses/{public_id}", query), public_id)
        except ResponsesProblem as problem:
            raise Refused(problem) from problem
        if isinstance(found, dict) and "output" in found:
            check_response(found)
        return found

    def look(self, response: dict[str, Any]) -> dict[str, Any]:
        """The response as the caller reads it now."""
        found: dict[str, Any] = self.call(service.retrieve_response, response["id"])[1]
        return check_response(found)


def result(call_id: str, output: object) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def stored(public_id: str) -> dict[str, Any]:
    """The response as it is stored, once it and its events have been held to the protocol."""
    response = Response.objects.get(public_id=public_id)
    told = [
        json.loads(data) for data in response.events.order_by("seq").values_list("data", flat=True)
    ]
    check_events(told, whole=not response.is_under_way)
    return check_response(body_of(response))


body = stored


def row(response: dict[str, Any]) -> Response:
    return Response.objects.select_related("session", "run").get(public_id=response["id"])


def asked(response: dict[str, Any]) -> dict[str, Any]:
    """The one question of a response."""
    found = [item for item in response["output"] if item.get("name") == "request_info"]
    assert len(found) == 1, response["output"]
    item: dict[str, Any] = found[0]
    return item


def arguments(response: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked(response)["arguments"])
    return found


def words(response: dict[str, Any]) -> str:
    """What the agent said."""
    said = [item for item in response["output"] if item["type"] == "message"]
    return "".join(part["text"] for item in said for part in item["content"])


def steps(response: dict[str, Any]) -> list[str]:
    calls = [item for item in response["output"] if item["type"] == "function_call"]
    return [item["name"] for item in calls if item["name"] == item["call_id"]]


def events(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored stream of a response."""
    rows = row(response).events.order_by("seq")
    return [json.loads(data) for data in rows.values_list("data", flat=True)]


def ask_of(response: dict[str, Any]) -> Ask:
    """The row behind the question of a response."""
    return Ask.objects.select_related("session", "run").get(request_key=asked(response)["call_id"])


def directory_of(response: dict[str, Any]) -> Path:
    """The run directory of the chain that a response belongs to."""
    found = row(response)
    root = found.root or found
    return runs_folder(found.agent.slug) / root.public_id


async def in_this_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Database work on the connection of the test, which holds its open transaction."""
    return await sync_to_async(work, thread_sensitive=True)(*arguments)


def play(turn: Turn, taker: Any = None) -> list[TurnEvent]:
    """What a runtime tells in one turn, written down as the dispatch service does."""
    taker = taker or ResponsesRuntime(read=in_this_thread)

    async def listen() -> list[TurnEvent]:
        told = []
        async with Transcript(turn, write=in_this_thread) as transcript:
            async for event in taker.take_turn(turn):
                told.append(event)
                if not isinstance(event, Ended) and type(event).__name__ != "Started":
                    await transcript.add(event)
        return told

    return async_to_sync(listen)()


def claimed(run: Run | None = None) -> Turn | None:
    """The oldest queued run, claimed."""
    run = run or Run.objects.filter(status=RunStatus.QUEUED).order_by("pk").first()
    return claims.claim_run(run_id=run.pk, worker="test") if run else None


def carry_all(taker: Any = None) -> list[Ended]:
    """Carry every queued run to its end; how each ended."""
    ended = []
    while turn := claimed():
        last = play(turn, taker)[-1]
        assert isinstance(last, Ended)
        assert settlement.settle_run(turn.fence, last)
        ended.append(last)
    return ended
