"""The API over real HTTP: a real web process, a key from the command line, several callers at once."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from agents.models import Run
from asks.models import Verdict
from tests.api import world
from tests.conftest import SERVER
from tests.live_server import MANAGE, LiveServer


@pytest.fixture
def database(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """A database of this test alone, which the web process uses too."""
    server = pytestconfig.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock():
        with server.fresh_database():
            yield
        server.point_at(before)


@pytest.fixture
def server(database: None, tmp_path: Path) -> Iterator[LiveServer]:
    web = LiveServer(tmp_path / "web.log")
    try:
        web.start()
        yield web
    finally:
        web.stop()
        print(web.said())  # noqa: T201 -- pytest shows it when the test failed


def key(*arguments: str) -> str:
    """The last line of the real `manage.py key create`."""
    made = subprocess.run(
        [*MANAGE, "key", "create", *arguments], capture_output=True, text=True, check=True
    )
    return made.stdout.splitlines()[-1]


def test_a_program_answers_over_http_once_however_often_it_tries(server: LiveServer) -> None:
    cast = world.cast()
    ask = world.asked(cast.agent, world.approval())
    owner = key("bot", "--scope", "ask:answer,run:read", "--owner", cast.owner.username)
    agents = key("own", "--scope", "run:read,ask:create", "--agent", cast.agent.slug)

    def client(token: str) -> httpx.Client:
        return httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False
        )

    with client(agents) as theirs, client(owner) as mine:
        [shown] = theirs.get("/api/asks").json()["asks"]
        body = {"option": "yes", "binding": shown["binding"]}
        path = f"/api/asks/{ask.pk}/answer"
        assert theirs.post(path, json=body).status_code == 403
        with ThreadPoolExecutor(6) as callers:
            said = list(callers.map(lambda _: mine.post(path, json=body), range(6)))
        assert [answer.status_code for answer in said] == [200] * 6
        assert sorted(answer.json()["repeated"] for answer in said) == [False] + [True] * 5
        assert mine.post(path, content=b"x" * 400_000).status_code == 413
        assert mine.post(path, content=iter([b"{", b"}"])).status_code == 415
        assert mine.get("/api/openapi.json").json()["openapi"] == "3.1.0"
    assert Verdict.objects.get(ask=ask).decided_by == cast.owner
    assert Run.objects.filter(session=cast.session, cause="human").count() == 2
