"""Leaf agents, orchestrators that call them, and runs carried in the test's own transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents import claims, settlement
from agents.lifecycle import AgentState, RunStatus
from agents.models import Agent, Event, Run, Session
from agents.registration import register_agent
from agents.running import runtime
from agents.running.runtime import Ended, Turn, TurnEvent
from agents.running.transcript import Transcript
from workspace.accounts import api_keys
from workspace.protocols.common.http import one_line_json
from workspace.protocols.leaf.agent import brains
from workspace.protocols.leaf.agent.runtime import LeafRuntime
from workspace.protocols.leaf.client.runtime import RemoteLeafRuntime
from workspace.protocols.leaf.server import state

ALL = ("run:create", "run:read", "ask:create", "ask:answer")
ITEM = {"item_id": "i1", "file": "a.py", "pattern": "eval(", "require_approval": True}
UNGATED = {**ITEM, "require_approval": False}

Part = ToolCallPart | TextPart | Exception


def ask_approval(
    summary: str = "Found eval( in a.py.", proposed_action: str = "Submit FLAGGED."
) -> ToolCallPart:
    return ToolCallPart(
        "request_approval", {"summary": summary, "proposed_action": proposed_action}
    )


def submit(verdict: str = "FLAGGED", **changes: Any) -> ToolCallPart:
    arguments = {"item_id": "i1", "verdict": verdict, "reason": "It is there.", **changes}
    return ToolCallPart("submit_verdict", arguments)


def say(text: str = "I have nothing more to say.") -> TextPart:
    return TextPart(text)


class Brain:
    """A model that plays responses in turn, and remembers what it was shown.

    Each response is a list of parts; an exception is raised instead. The last one is repeated.
    """

    def __init__(self, name: str, *responses: Sequence[Part]) -> None:
        self.name = name
        self._responses = list(responses)
        self.prompts: list[str] = []
        self.tools: list[set[str]] = []
        self.calls = 0
        brains.register_model(name, lambda: FunctionModel(self._play, model_name=name))

    def _play(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.calls += 1
        self.prompts = brains._prompts(messages)
        self.tools.append({tool.name for tool in (*info.function_tools, *info.output_tools)})
        parts = self._responses[min(self.calls, len(self._responses)) - 1]
        for part in parts:
            if isinstance(part, Exception):
                raise part
        return ModelResponse(parts=cast("Any", list(parts)))


def leaf_agent(owner: User, slug: str = "reviewer", **settings: Any) -> Agent:
    return register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="leaf",
        settings=settings,
        lifecycle=AgentState.ACTIVE,
    )


def key_for(
    agent: Agent | None,
    person: User | None,
    scopes: Sequence[str] = ALL,
    name: str = "orchestrator",
) -> str:
    return api_keys.create_key(name=name, scopes=scopes, agent=agent, person=person)[1]


class Orchestrator:
    """A client of the leaf protocol with a key of its own."""

    def __init__(self, token: str) -> None:
        self._client = Client(headers={"Authorization": f"Bearer {token}"} if token else {})

    def send(self, body: object, path: str = "/runs") -> HttpResponse:
        raw = body if isinstance(body, bytes | str) else json.dumps(body)
        return cast("HttpResponse", self._client.post(path, raw, content_type="application/json"))

    def run(self, session_id: str = "run/1", **more: Any) -> dict[str, Any]:
        """Send an inline envelope, let all that is queued run, and say how it stands then."""
        envelope = {"sessionId": session_id, "item": ITEM, **more}
        first = self.send({**envelope, "async": True})
        assert first.status_code == 202, first.content
        carry_all()
        again = self.send({name: value for name, value in envelope.items() if name != "decision"})
        assert again.status_code == 200, again.content
        said: dict[str, Any] = again.json()  # type: ignore[attr-defined]
        refused = first.json().get("refused")  # type: ignore[attr-defined]
        return said | ({"refused": refused} if refused else {})

    def decide(
        self, gate_id: object, action: str, feedback: str | None = None, **more: Any
    ) -> dict[str, Any]:
        decision = {"gateId": gate_id, "action": action}
        decision |= {"feedback": feedback} if feedback is not None else {}
        return self.run(decision=decision, **more)

    def status(self, session_id: str = "run/1", **query: str) -> dict[str, Any]:
        said: dict[str, Any] = self.ask_status(sessionId=session_id, **query).json()  # type: ignore[attr-defined]
        return said

    def ask_status(self, path: str = "/runs/status", **query: str) -> HttpResponse:
        return cast("HttpResponse", self._client.get(path, query))


async def in_this_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Database work on the connection of the test, which holds its open transaction."""
    return await sync_to_async(work, thread_sensitive=True)(*arguments)


def runtime_of(key: str, **more: Any) -> Any:
    if key == "leaf":
        return LeafRuntime(read=in_this_thread)
    return RemoteLeafRuntime(**more)


def play(turn: Turn, taker: Any = None) -> list[TurnEvent]:
    """What a runtime tells in one turn, written down as the dispatch service does."""
    taker = taker or runtime_of(turn.agent.runtime)

    async def listen() -> list[TurnEvent]:
        told = []
        async with Transcript(turn, write=in_this_thread) as transcript:
            async for event in taker.take_turn(turn):
                told.append(event)
                if not isinstance(event, Ended):
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


def session_of(agent: Agent) -> Session:
    """The one session that was opened through the door."""
    return Session.objects.select_related("agent").get(agent=agent, is_home=False)


def standing(agent: Agent) -> state.LeafState:
    return state.current_state(session_of(agent))


def kinds(session: Session) -> list[str]:
    events = Event.objects.filter(session=session).order_by("seq")
    return list(events.values_list("kind", flat=True))


class Folder:
    """A session's files on a volume, as an orchestrator lays them out."""

    def __init__(self, volume: Path, name: str = "i1") -> None:
        self.input = volume / "inputs" / f"{name}.json"
        self.result = volume / "results" / f"{name}.json"
        self.decision = volume / "decisions" / f"{name}.json"
        for path in (self.input, self.result, self.decision):
            path.parent.mkdir(parents=True, exist_ok=True)
        self.write(self.input, ITEM)

    @property
    def gate(self) -> Path:
        return self.result.with_name(f"{self.result.name}.gate")

    @property
    def done(self) -> Path:
        return self.result.with_name(f"{self.result.name}.status")

    def write(self, path: Path, value: object) -> None:
        path.write_text(value if isinstance(value, str) else one_line_json(value))

    def envelope(
        self, session_id: str = "run/1", *, decided: bool = False, later: bool = False, **more: Any
    ) -> dict[str, Any]:
        refs = {"inputsRef": str(self.input), "resultRef": str(self.result)}
        refs |= {"decisionRef": str(self.decision)} if decided else {}
        return {"sessionId": session_id, **refs, **more} | ({"async": True} if later else {})


assert runtime.runtime_keys()
