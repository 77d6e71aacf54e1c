"""Our console drives our own server in other processes, and either side is killed at each step.

The server has a database, a web process and a worker of its own; the console another database and
worker. Whatever dies: one run for each request, one ask for the question, one answer, nothing lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connections
from pytest_django import DjangoDbBlocker

from agents import controls
from agents.lifecycle import RunStatus
from agents.models import Agent, Event, Run, Session
from agents.registration import open_session
from asks.answering import Answered, answer_ask
from asks.models import Ask
from tests.conftest import SERVER
from tests.database import TestServer
from tests.dispatch.world import Worker, eventually
from tests.responses.houses import QUICK, House, house_on_its_own
from tests.responses.remotes import remote_agent
from tests.responses.world import brain

#: It works for a while, so that there is a middle to be killed in.
BRAIN = """
def work(what):
    for n in range(8):
        print(json.dumps({"type": "text", "text": f"{what} {n}. "}), flush=True)
        time.sleep(0.2)

if "# The answer" in prompt:
    work("going on")
    print("Reconciled", prompt.rstrip().rsplit(": ", 1)[1])
else:
    work("looking")
    pathlib.Path("hitl_request.json").write_text(json.dumps(
        {"request_id": "ledger", "question": "Which ledger?", "options": ["EU", "US"]}))
"""


class Console:
    """A worker on a database of its own that drives the house's agent."""

    def __init__(self, house: House, folder: Path, url: str) -> None:
        self.house = house
        env = {**QUICK, "HOUSE_KEY": house.key, "DATABASE_URL": url}
        self.worker = Worker(log=folder / "console.log", env=env)
        self.owner = User.objects.create_user("carla")
        self.agent: Agent = remote_agent(
            self.owner,
            f"{house.web.url}/v1",
            key_variable="HOUSE_KEY",
            input='{"target_date": "2026-10-16"}',
            idempotent=True,
            patience_seconds=90,
            silence_seconds=10,
        )

    def victim(self, name: str) -> Any:
        return {"web": self.house.web, "worker": self.house.worker, "console": self.worker}[name]


@pytest.fixture(scope="module")
def console(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("houses")
    server: TestServer = pytestconfig.stash[SERVER]
    with ExitStack() as down:
        house = down.enter_context(house_on_its_own(pytestconfig, django_db_blocker, folder))
        Agent.objects.update(
            settings={
                **house.agent.settings,
                "command": brain(folder, BRAIN),
                "max_usd_per_run": None,
            }
        )
        house_database = str(connections["default"].settings_dict["NAME"])
        down.callback(server.point_at, house_database)
        name = down.enter_context(server.fresh_database())
        found = Console(house, folder, server.url(name))
        down.callback(found.worker.end)
        found.worker.start()
        yield found


def in_the_house(console: Console, statement: str) -> list[Any]:
    with psycopg.connect(console.house.database_url) as connection:
        return connection.execute(statement).fetchall()


def under_way(console: Console, before: int) -> bool:
    rows = in_the_house(
        console,
        f"SELECT next_seq FROM workspace_response WHERE id > {before} AND status = 'in_progress'",
    )
    return any(seq > 4 for (seq,) in rows)


def newest(console: Console) -> int:
    return int(in_the_house(console, "SELECT coalesce(max(id), 0) FROM workspace_response")[0][0])


def strike(console: Console, name: str, when: bool) -> None:
    """Kill a process, and start it again."""
    if when:
        victim = console.victim(name)
        victim.kill()
        victim.start()


@pytest.mark.case("responses-C15", "responses-S21", "responses-C32")
@pytest.mark.parametrize("victim", ["web", "worker", "console"])
@pytest.mark.parametrize("step", ["asking", "waiting", "answering"])
def test_whoever_dies_nothing_is_lost_or_asked_twice(
    console: Console, victim: str, step: str
) -> None:
    before = newest(console)
    session = open_session(console.agent)
    Session.objects.filter(agent=console.agent, is_home=True).update(is_home=False)
    Session.objects.filter(pk=session.pk).update(is_home=True)
    controls.start_session(session_id=session.pk, by=console.owner)

    eventually(lambda: under_way(console, before), "the house is at work")
    strike(console, victim, step == "asking")
    eventually(lambda: _waits(session), "the question is here")
    ask = Ask.objects.get(session=session)
    strike(console, victim, step == "waiting")
    first = newest(console)
    done = answer_ask(ask_id=ask.pk, by=console.owner, option=ask.options.get(label="EU").key)
    assert isinstance(done, Answered)
    eventually(lambda: under_way(console, first), "the house goes on")
    strike(console, victim, step == "answering")
    eventually(lambda: _is_done(session), "the end is here")

    summary = Event.objects.filter(session=session, kind="summary").order_by("seq").last()
    assert summary is not None
    assert 'Reconciled "EU"' in summary.text
    assert Ask.objects.filter(session=session).count() == 1
    assert not Run.objects.filter(session=session, status=RunStatus.FAILED).exists()
    there = in_the_house(
        console, f"SELECT status FROM workspace_response WHERE id > {before} ORDER BY id"
    )
    assert there == [("completed",), ("completed",)]
    assert (
        in_the_house(console, "SELECT count(*) FROM asks_verdict")[0][0]
        == in_the_house(console, "SELECT count(*) FROM asks_ask")[0][0]
    )


def _waits(session: Session) -> bool:
    return Run.objects.filter(session=session, status=RunStatus.WAITING_HUMAN).exists()


def _is_done(session: Session) -> bool:
    return Run.objects.filter(session=session, status=RunStatus.COMPLETED).exists()
