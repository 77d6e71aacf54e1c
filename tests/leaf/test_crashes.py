"""Web, worker and PostgreSQL are killed at each step of a session: it ends as if nothing had been."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from pytest_django import DjangoDbBlocker

from agents.models import Agent, Event, Run, Session
from asks.models import Gate, Verdict
from tests.conftest import SERVER
from tests.dispatch.test_outage import SETTINGS, power_cut
from tests.dispatch.world import Worker, disconnect, eventually, point_at
from tests.leaf.world import ITEM, Folder, key_for, leaf_agent
from tests.live_server import LiveServer
from workspace.local.postgres.instance import LocalPostgres

pytestmark = pytest.mark.chaos

#: The agent thinks for so long, and is interrupted in the middle of it.
THINKS = 1.5
QUICK = {"RUN_LEASE_SECONDS": "3", "LEAF_SYNC_QUEUE_SECONDS": "60"}
ENVELOPE = {"sessionId": "run/1", "item": ITEM}
STEPS: list[dict[str, Any]] = [
    {},
    {"decision": {"gateId": 0, "action": "reject", "feedback": "check the callers"}},
    {"decision": {"gateId": 1, "action": "approve"}},
]


class House:
    """A database, a web process and a worker, each of which can be killed and comes back."""

    def __init__(self, postgres: LocalPostgres, folder: Path) -> None:
        self.postgres = postgres
        self.web = LiveServer(folder / "web.log", QUICK)
        self.worker = Worker("--concurrency", "2", log=folder / "worker.log", env=QUICK)

    def start(self) -> None:
        self.web.start()
        self.worker.start()

    def end(self) -> None:
        self.web.kill()
        self.worker.kill()

    def told(self) -> list[str]:
        """What web and worker said last."""
        return [process.said()[-3000:] for process in (self.web, self.worker)]

    def kill(self, victim: str) -> None:
        """As a power cut would; it is there again afterwards."""
        if victim == "postgres":
            power_cut(self.postgres)
            self.postgres.start()
        else:
            process = {"web": self.web, "worker": self.worker}[victim]
            process.kill()
            process.start()


@pytest.fixture
def house(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
) -> Iterator[House]:
    server, before = pytestconfig.stash[SERVER], str(connections["default"].settings_dict["NAME"])
    with tempfile.TemporaryDirectory(prefix="needs-you-leaf-") as folder:
        Path(folder).chmod(0o711)
        postgres = LocalPostgres(Path(folder) / "state", SETTINGS)
        with django_db_blocker.unblock():
            made = House(postgres, tmp_path)
            try:
                postgres.start()
                point_at(postgres.url())
                call_command("migrate", verbosity=0)
                yield made
            finally:
                made.end()
                disconnect()
                postgres.stop()
                server.point_at(before)


@pytest.fixture
def agent(house: House) -> Agent:
    owner = User.objects.create_user("olga")
    return leaf_agent(owner, model=f"scripted:{THINKS}")


@pytest.mark.case("leaf-B11", "leaf-W02", "leaf-W03", "leaf-W04", "leaf-Q01", "leaf-Q08", "C45")
@pytest.mark.parametrize("victim", ["web", "worker", "postgres"])
def test_whatever_is_killed_the_end_is_the_same(house: House, agent: Agent, victim: str) -> None:
    owner = agent.owners.get()
    token = key_for(agent, owner)
    house.start()
    for number, step in enumerate(STEPS):
        caller = Caller(house.web.url, token, {**ENVELOPE, **step})
        with explained(lambda: [*house.told(), caller.heard, _rows(agent)]):  # noqa: B023
            eventually(lambda: _runs(agent) > number, "the step's run is there")  # noqa: B023
        time.sleep(THINKS / 2)
        house.kill(victim)  # in the middle of the turn
        said = caller.answer()
        house.kill(victim)  # while it is parked, or over
        assert said["status"] == ("done" if number == 2 else "paused"), said

    again = Caller(house.web.url, token, ENVELOPE).answer()
    assert again == said
    assert final_state(agent) == {
        "gates": [(0, "reject", "check the callers"), (1, "approve", "")],
        "verdict": "FLAGGED",
        "asked": 2,
        "answered": 2,
        "ended": 3,
        "prompts": ["You are reviewing", "Human decision: REJECTED", "Human decision: APPROVED"],
        "owed": 0,
        "seqs": True,
    }


@pytest.mark.case("leaf-Q03", "leaf-Q05", "leaf-M08", "C34")
@pytest.mark.parametrize("victim", ["web", "worker", "postgres"])
def test_whatever_is_killed_the_files_are_the_same(
    house: House, agent: Agent, volume: Path, victim: str
) -> None:
    """Asynchronous, so that nobody but a job of the queue writes them."""
    agent.settings["volume"] = str(volume)
    agent.save(update_fields=["settings"])
    token = key_for(agent, agent.owners.get())
    folder = Folder(volume)
    house.start()
    for number, step in enumerate(STEPS):
        if decision := step.get("decision"):
            folder.write(folder.decision, decision)
        envelope = folder.envelope(decided=bool(step), later=True)
        Caller(house.web.url, token, envelope, wanted=202).answer()
        eventually(lambda: _runs(agent) > number, "the step's run is there")  # noqa: B023
        time.sleep(THINKS / 2)
        house.kill(victim)  # in the middle of the turn
        eventually(lambda: _says(folder, number), "the volume says so")  # noqa: B023
        house.kill(victim)  # while it is parked, or over

    files = sorted(path.name for path in folder.result.parent.iterdir())
    assert files == ["i1.json", "i1.json.status"]
    assert json.loads(folder.result.read_text())["verdict"] == "FLAGGED"
    assert final_state(agent)["gates"] == [
        (0, "reject", "check the callers"),
        (1, "approve", ""),
    ]


def _says(folder: Folder, step: int) -> bool:
    """Whether the marker of a step is there: two gates, then the end."""
    path = folder.done if step == 2 else folder.gate
    if not path.exists():
        return False
    said = json.loads(path.read_text())
    return bool(said["status"] == "done" if step == 2 else said["gateId"] == step)


def final_state(agent: Agent) -> dict[str, Any]:
    """All that must be the same whatever was killed."""
    session = Session.objects.get(agent=agent, is_home=False)
    events = list(Event.objects.filter(session=session).order_by("seq"))
    kinds = [event.kind for event in events]
    verdicts = Verdict.objects.filter(ask__session=session).select_related("ask__gate", "option")
    parts = [part for message in session.data["messages"] for part in message["parts"]]
    prompts = [part["content"] for part in parts if part["part_kind"] == "user-prompt"]
    starts = ("You are reviewing", "Human decision: REJECTED", "Human decision: APPROVED")
    assert Gate.objects.filter(session=session).count() == 2
    return {
        "gates": [
            (verdict.ask.gate.number, verdict.option.key if verdict.option else "", verdict.text)
            for verdict in verdicts.order_by("ask__gate__number")
        ],
        "verdict": session.data["result"]["verdict"],
        "asked": kinds.count("asked"),
        "answered": kinds.count("verdict"),
        "ended": kinds.count("ended"),
        "prompts": [start for prompt in prompts for start in starts if prompt.startswith(start)],
        "owed": session.inbox.exclude(state="acked").count(),
        "seqs": [event.seq for event in events] == list(range(1, len(events) + 1)),
    }


class Caller:
    """An orchestrator that sends the same envelope until it is answered, as it is told to."""

    def __init__(self, url: str, token: str, envelope: dict[str, Any], wanted: int = 200) -> None:
        self._said: dict[str, Any] = {}
        self._wanted = wanted
        self.heard: list[str] = []
        self._send: Callable[[], httpx.Response] = lambda: httpx.post(
            f"{url}/runs",
            json=envelope,
            headers={"Authorization": f"Bearer {token}"},
            timeout=90,
            trust_env=False,
        )
        self._thread = threading.Thread(target=self._until_answered, daemon=True)
        self._thread.start()

    def _until_answered(self) -> None:
        deadline = time.monotonic() + 90
        while not self._said and time.monotonic() < deadline:
            try:
                response = self._send()
            except httpx.HTTPError as error:
                self.heard.append(repr(error))
                time.sleep(0.1)
                continue
            self.heard.append(f"{response.status_code} {response.text[:500]}")
            if response.status_code == self._wanted:
                self._said = response.json()
            time.sleep(0.1)

    def answer(self) -> dict[str, Any]:
        self._thread.join(100)
        assert self._said, "never answered"
        return {name: value for name, value in self._said.items() if name != "refused"}


@contextmanager
def explained(circumstances: Callable[[], list[Any]]) -> Iterator[None]:
    """Have a failure tell what it happened in."""
    try:
        yield
    except AssertionError as error:
        for one in circumstances():
            error.add_note(str(one))
        raise


def _rows(agent: Agent) -> list[Any]:
    runs = Run.objects.filter(session__agent=agent).order_by("pk")
    sessions = Session.objects.filter(agent=agent).values("pk", "state", "status", "status_reason")
    return [*runs.values("pk", "status", "epoch", "worker", "error"), *sessions]


def _runs(agent: Agent) -> int:
    """How many runs have started."""
    return Run.objects.filter(session__agent=agent).exclude(status="queued").count()


@pytest.mark.case("leaf-X1")
def test_decisions_at_once_are_one_decision_and_one_turn(house: House, agent: Agent) -> None:
    token = key_for(agent, agent.owners.get())
    house.start()
    first = [Caller(house.web.url, token, ENVELOPE) for _ in range(3)]
    assert [caller.answer()["gateId"] for caller in first] == [0, 0, 0]
    assert Run.objects.filter(session__is_home=False).count() == 1

    actions = ["approve", "reject", "approve", "abort", "approve"]
    decisions = [{"gateId": 0, "action": action} for action in actions]
    calls = [
        Caller(house.web.url, token, {**ENVELOPE, "decision": decision}) for decision in decisions
    ]
    words = {caller.answer()["status"] for caller in calls}

    verdict = Verdict.objects.get()
    assert verdict.option is not None
    expected = {"approve": "done", "reject": "paused", "abort": "aborted"}[verdict.option.key]
    assert words == {expected}
    assert Run.objects.filter(session__is_home=False).count() == 2
    assert Event.objects.filter(kind="verdict").count() == 1


def test_a_worker_that_is_told_to_stop_gives_the_turn_back(house: House, agent: Agent) -> None:
    token = key_for(agent, agent.owners.get())
    house.start()
    caller = Caller(house.web.url, token, ENVELOPE)
    eventually(lambda: Run.objects.filter(status="running").exists(), "it is at work")
    os.killpg(house.worker.pid, signal.SIGTERM)
    house.worker.running.wait(20)
    house.worker.start()

    assert caller.answer()["status"] == "paused"
    assert Gate.objects.count() == 1
