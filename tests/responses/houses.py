"""A web process and a worker on a database of their own, each of which can be killed and comes back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.conftest import SERVER
from tests.dispatch.world import Worker, eventually
from tests.live_server import LiveServer
from tests.responses.strict import DONE, check_response, read_stream
from tests.responses.world import REQUEST, hybrid_agent, key_for

__all__ = ["House", "eventually", "frames", "house_on_its_own"]

QUICK = {"RESPONSES_KEEP_ALIVE_SECONDS": "0.2", "RUN_LEASE_SECONDS": "3", "LOG_LEVEL": "INFO"}


class House:
    """The two processes, the owner and their scripted agent, and a client with the owner's key."""

    def __init__(self, folder: Path) -> None:
        self.database_url = os.environ["DATABASE_URL"]
        env = {**QUICK, "DATABASE_URL": self.database_url}
        self.web = LiveServer(folder / "web.log", env)
        self.worker = Worker(log=folder / "worker.log", env=env)
        self.owner = User.objects.create_user("olga")
        self.agent = hybrid_agent(self.owner)
        self.key = key_for(self.agent, self.owner)

    def start(self) -> None:
        self.web.start()
        self.worker.start()

    def stop(self) -> None:
        self.web.kill()
        self.worker.end()

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key if token is None else token}"}
        return httpx.Client(base_url=f"{self.web.url}/v1", headers=headers, timeout=60)

    def ask(self, scenario: str = "ask", **more: Any) -> dict[str, Any]:
        """A whole turn of the scripted agent over HTTP."""
        with self.client() as client:
            sent = client.post("/responses", json=asking(scenario, **more))
        assert sent.status_code == 200, sent.text
        return check_response(sent.json())

    def answer(self, paused: dict[str, Any], output: str) -> httpx.Response:
        with self.client() as client:
            sent = client.post("/responses", json=answering(paused, output))
        if sent.status_code == 200:
            check_response(sent.json())
        return sent


def asking(scenario: str = "ask", **more: Any) -> dict[str, Any]:
    return {"input": json.dumps(REQUEST | {"scenario": scenario}), **more}


def answering(paused: dict[str, Any], output: str, **more: Any) -> dict[str, Any]:
    call = next(item for item in paused["output"] if item.get("name") == "request_info")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": output}
    return {"previous_response_id": paused["id"], "input": [result], **more}


def frames(raw: bytes) -> list[dict[str, Any]]:
    """The events of a stream that may have been broken off, without its comments."""
    whole = raw[: raw.rfind(b"\n\n") + 2]
    return read_stream(whole, broken_off=not raw.endswith(DONE.encode()))


@contextmanager
def house_on_its_own(
    config: pytest.Config, blocker: DjangoDbBlocker, folder: Path
) -> Iterator[House]:
    server = config.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with blocker.unblock(), ExitStack() as down:
        down.callback(server.point_at, before)
        down.enter_context(server.fresh_database())
        house = House(folder)
        down.callback(house.stop)
        house.start()
        yield house
