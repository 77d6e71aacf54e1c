"""Harnesses for the driving runtime: our own server in this process, and one that answers as told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
from django.contrib.auth.models import User
from django.test import Client

from agents.lifecycle import AgentState
from agents.models import Agent, Run
from agents.registration import register_agent
from agents.running.runtime import Ended
from asks.answering import Answered, answer_ask
from asks.models import Ask
from tests.factories import echo_of
from tests.leaf.world import claimed, in_this_thread, play, runtime_of
from workspace.protocols.leaf.server import state

URL = "http://harness.test"


def remote_agent(owner: User, slug: str = "driver", **settings: Any) -> Agent:
    quick = {"poll_seconds": 0.01, "settle_seconds": 0.05, "base_url": URL}
    return register_agent(
        slug=slug,
        owners=[owner],
        runtime_key="leaf-remote",
        settings={**quick, **settings},
        lifecycle=AgentState.ACTIVE,
    )


class OurServer(httpx.AsyncBaseTransport):
    """Our own doors, whose runs are carried as soon as they are queued."""

    def __init__(self, token: str, agent: Agent) -> None:
        self._client = Client(headers={"Authorization": f"Bearer {token}"})
        self._agent = agent
        self.requests: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(f"{request.method} {request.url.path}")
        response: httpx.Response = await in_this_thread(self._handle, request)
        return response

    def _handle(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if request.method == "GET":
            found = self._client.get(path)
        else:
            body = request.content
            sent = json.loads(body)
            if not sent.get("async"):  # first as an asynchronous one, whose run is carried here
                again = {k: v for k, v in sent.items() if k not in ("decision", "decisionRef")}
                self._client.post(path, {**sent, "async": True}, "application/json")
                self._carry()
                body = json.dumps(again).encode()
            found = self._client.post(path, body, "application/json")
            self._carry()
        return httpx.Response(found.status_code, content=found.content, headers=dict(found.items()))

    def _carry(self) -> None:
        from agents import settlement

        while run := Run.objects.filter(session__agent=self._agent, status="queued").first():
            turn = claimed(run)
            assert turn is not None
            last = play(turn)[-1]
            assert isinstance(last, Ended)
            assert settlement.settle_run(turn.fence, last)


Answer = dict[str, Any] | tuple[int, dict[str, Any]] | bytes | Exception


class Scripted(httpx.MockTransport):
    """A harness that answers each kind of call as told, the last answer again and again."""

    def __init__(self, *, posts: list[Answer], statuses: list[Answer] | None = None) -> None:
        self.posts, self.statuses = list(posts), list(statuses or [{"status": "queued"}])
        self.sent: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []
        super().__init__(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answers = self.posts if request.method == "POST" else self.statuses
        self.headers.append(request.headers)
        if request.method == "POST":
            self.sent.append(json.loads(request.content))
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            return httpx.Response(200, content=answer)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        headers = {"Retry-After": "60"} if status == 503 else {}
        return httpx.Response(status, json=body, headers=headers)


def paused(gate_id: int = 0, summary: str = "I looked.", **more: Any) -> dict[str, Any]:
    gate = {"summary": summary, "proposed_action": "Flag it."}
    return {"status": "paused", "gateId": gate_id, "gate": gate, **more}


def done(verdict: str = "FLAGGED") -> dict[str, Any]:
    return {"status": "done", "verdict": {"item_id": "i1", "verdict": verdict, "reason": "There."}}


class Driver:
    """A remote agent at work on one session, and its owner."""

    def __init__(self, agent: Agent, owner: User, transport: httpx.AsyncBaseTransport) -> None:
        self.agent, self.owner = agent, owner
        self._taker = runtime_of("leaf-remote", transport=transport)

    def carry(self) -> list[Ended]:
        from agents import settlement

        ended = []
        while run := Run.objects.filter(session__agent=self.agent, status="queued").first():
            turn = claimed(run)
            assert turn is not None
            last = play(turn, self._taker)[-1]
            assert isinstance(last, Ended)
            assert settlement.settle_run(turn.fence, last)
            ended.append(last)
        return ended

    @property
    def asks(self) -> list[Ask]:
        return list(Ask.objects.filter(agent=self.agent, status="open").order_by("pk"))

    @property
    def ask(self) -> Ask:
        (only,) = self.asks
        return only

    def choose(self, option: str, text: str = "") -> list[Ended]:
        """Answer the one open question as the owner, and let the next turn run."""
        ask = self.ask
        echo = echo_of(ask) if hasattr(ask, "gate") else None
        done = answer_ask(ask_id=ask.pk, by=self.owner, option=option, text=text, echo=echo)
        assert isinstance(done, Answered), done
        return self.carry()

    @property
    def session(self) -> Any:
        return self.agent.sessions.order_by("-pk").first()

    @property
    def word(self) -> str:
        return state.current_state(self.session).word


MakeDriver = Callable[..., Driver]
