"""/eve/v1 over real HTTP, with a real worker: streams, their bytes over a restart, and errors."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.conftest import SERVER
from tests.dispatch.world import Worker, eventually
from tests.eve.server.world import REFUND, key_for, scripted_agent
from tests.live_server import LiveServer
from workspace.accounts import api_keys

QUICK = {"EVE_HEARTBEAT_SECONDS": "0.2", "EVE_LEASE_SECONDS": "1", "RUN_LEASE_SECONDS": "3"}
LEASE_ENDED = {"$eve": "stream.lease-ended", "version": 1}
Json = dict[str, Any]


class House:
    """A web process and a worker on a database of their own, and a client with the owner's key."""

    def __init__(self, folder: Path) -> None:
        env = {**QUICK, "DATABASE_URL": os.environ["DATABASE_URL"]}
        self.web = LiveServer(folder / "web.log", env)
        self.worker = Worker(log=folder / "worker.log", env=env)
        self.owner = User.objects.create_user("olga")
        self.agent = scripted_agent(self.owner)
        self.key = key_for(self.agent, self.owner)

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key if token is None else token}"}
        return httpx.Client(base_url=f"{self.web.url}/eve/v1", headers=headers, timeout=30)

    def post(self, path: str, **body: Any) -> httpx.Response:
        with self.client() as client:
            return client.post(path, json=body)

    def open(self, message: str = "hello") -> str:
        """A session that has come to rest after its first message."""
        name = str(self.post("/session", message=message).json()["sessionId"])
        self.rested(name)
        return name

    def rested(self, name: str, times: int = 1) -> list[Json]:
        def look() -> list[Json]:
            told = events(self.snapshot(name))
            return told if types(told).count("session.waiting") >= times else []

        return eventually(look, "the session has come to rest")

    def snapshot(self, name: str, **query: Any) -> bytes:
        with self.client() as client:
            query = {"follow": "false", **query}
            return client.get(f"/session/{name}/stream", params=query).content


def events(raw: bytes) -> list[Json]:
    return [json.loads(line) for line in raw.decode().split("\n") if line]


def types(told: list[Json]) -> list[str]:
    return [event["type"] for event in told]


@pytest.fixture(scope="module")
def house(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    server = pytestconfig.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock(), ExitStack() as down:
        down.callback(server.point_at, before)
        down.enter_context(server.fresh_database())
        found = House(tmp_path_factory.mktemp("house"))
        down.callback(found.worker.end)
        down.callback(found.web.kill)
        found.web.start()
        found.worker.start()
        yield found


def test_a_stream_is_lines_that_nothing_holds_back(house: House) -> None:
    name = house.open()
    with house.client() as client, client.stream("GET", f"/session/{name}/stream") as sent:
        assert sent.status_code == 200
        assert sent.headers["content-type"] == "application/x-ndjson; charset=utf-8"
        assert sent.headers["cache-control"] == "no-store, no-transform"
        assert sent.headers["x-accel-buffering"] == "no"
        assert sent.headers["x-eve-session-id"] == name
        assert sent.headers["x-eve-stream-format"] == "ndjson"
        assert sent.headers["x-eve-stream-version"] == "24"
        assert "content-encoding" not in sent.headers
        chunks = sent.iter_raw()
        heard = next(chunks)
        assert heard[:1] == b"\n"
        while b"session.waiting" not in heard:
            heard += next(chunks)
        assert next(chunks) == b"\n"  # a heartbeat, while nothing happens
        house.post(f"/session/{name}", message="more")
        while heard.count(b'"session.waiting"') < 2:
            heard += next(chunks)
    told = events(heard)
    assert told == events(house.snapshot(name))
    assert types(told).count("turn.started") == 2


def test_a_reader_goes_on_at_any_index(house: House) -> None:
    name = house.open()
    told = events(house.snapshot(name))
    last = len(told) - 1
    assert events(house.snapshot(name, startIndex=3)) == told[3:]
    assert events(house.snapshot(name, startIndex=last + 1)) == []
    assert events(house.snapshot(name, startIndex=10**12)) == []
    assert events(house.snapshot(name, startIndex=-1)) == told[-1:]
    assert events(house.snapshot(name, startIndex=-99)) == told
    with house.client() as client:
        path = f"/session/{name}/stream"
        bounded = client.get(path, params={"follow": "0"})
        assert bounded.headers["x-eve-stream-tail-index"] == str(last)
        with client.stream("GET", path, params={"includeTailIndex": "1"}) as sent:
            assert sent.headers["x-eve-stream-tail-index"] == str(last)
        with client.stream("GET", path, params={"startIndex": "-2"}) as sent:
            heard = b""
            for chunk in sent.iter_raw():
                heard += chunk
                if events(heard) == told[-2:]:
                    break


def test_an_empty_session_has_no_tail(house: House) -> None:
    name = house.post("/session").json()["sessionId"]
    with house.client() as client:
        sent = client.get(f"/session/{name}/stream", params={"follow": "false"})
    assert (sent.content, sent.headers["x-eve-stream-tail-index"]) == (b"\n", "-1")


def test_a_replay_is_the_same_bytes_after_a_restart(house: House) -> None:
    name = house.open(REFUND)
    before = house.snapshot(name)
    house.web.kill()
    house.web.start()
    assert house.snapshot(name) == before

    request = events(before)[-3]["data"]["requests"][0]
    answer = {"requestId": request["requestId"], "optionId": "approve"}
    assert house.post(f"/session/{name}", inputResponses=[answer]).status_code == 202
    house.rested(name, times=2)
    assert house.snapshot(name).startswith(before)


def test_a_controlled_stream_ends_with_its_lease(house: House) -> None:
    name = house.open()
    with house.client() as client:
        sent = client.get(f"/session/{name}/stream", params={"streamControlVersion": "1"})
    told = events(sent.content)
    assert told[-1] == LEASE_ENDED
    assert told[:-1] == events(house.snapshot(name))


def test_a_stream_ends_with_its_session(house: House) -> None:
    name = house.open()
    with house.client() as client, client.stream("GET", f"/session/{name}/stream") as sent:
        chunks = sent.iter_raw()
        next(chunks)
        assert house.post(f"/session/{name}/reset").json()["status"] == "reset"
        heard = b"".join(chunks)
    assert events(heard)[-1]["type"] == "session.completed"
    with house.client() as client:
        again = client.get(f"/session/{name}/stream", params={"startIndex": "-1"})
    assert types(events(again.content)) == ["session.completed"]


def test_a_server_that_is_told_to_stop_waits_for_no_reader(house: House) -> None:
    name = house.open()
    with house.client() as client, client.stream("GET", f"/session/{name}/stream") as sent:
        next(sent.iter_raw())
        house.web.stop()
        assert house.web.running.returncode != -signal.SIGKILL
    house.web.start()
    assert events(house.snapshot(name))[-1]["type"] == "session.waiting"


def test_many_readers_share_one_look_and_hold_no_connection(house: House) -> None:
    name = house.open()
    path = f"/session/{name}/stream"
    limits = httpx.Limits(max_connections=100)
    with ExitStack() as down:
        headers = {"Authorization": f"Bearer {house.key}"}
        base = f"{house.web.url}/eve/v1"
        client = down.enter_context(
            httpx.Client(base_url=base, headers=headers, limits=limits, timeout=30)
        )
        readers = [down.enter_context(client.stream("GET", path)).iter_raw() for _ in range(40)]
        heard = [next(reader) for reader in readers]
        house.post(f"/session/{name}", message="for all")
        for place, reader in enumerate(readers):
            while heard[place].count(b'"session.waiting"') < 2:
                heard[place] += next(reader)
        assert {tuple(line for line in raw.split(b"\n") if line) for raw in heard} == {
            tuple(line for line in house.snapshot(name).split(b"\n") if line)
        }
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            )
            held = cursor.fetchone()[0]
    assert held < 30


def test_health_is_for_anybody(house: House) -> None:
    for method in ("GET", "HEAD"):
        sent = httpx.request(method, f"{house.web.url}/eve/v1/health")
        assert sent.status_code == 200
        assert sent.headers["cache-control"] == "no-store"
    found = httpx.get(f"{house.web.url}/eve/v1/health").json()
    assert set(found) == {"ok", "status", "workflowId"}
    assert (found["ok"], found["status"]) == (True, "ready")


def test_info_names_the_agent_of_the_key(house: House) -> None:
    with house.client() as client:
        found = client.get("/info").json()
    assert (found["kind"], found["version"]) == ("eve-agent-info", 5)
    assert found["agent"]["name"] == house.agent.slug


def test_what_is_sent_is_accepted_in_either_eras_words(house: House) -> None:
    made = house.post("/session", message="hello")
    said = made.json()
    assert made.status_code == 202
    assert set(said) == {"ok", "sessionId", "status", "continuationToken"}
    assert made.headers["x-eve-session-id"] == said["sessionId"]
    sent = house.post(f"/session/{said['sessionId']}", message="more")
    assert sent.status_code == 202
    assert set(sent.json()) == {"ok", "sessionId", "status", "deliveryId"}
    plain = httpx.post(
        f"{house.web.url}/eve/v1/session",
        content=b'{"message":"hello"}',
        headers={"Authorization": f"Bearer {house.key}", "Content-Type": "text/plain"},
    )
    assert plain.status_code == 202


@pytest.mark.parametrize("token", ["wrong", "ny_000000000000_" + "a" * 43])
def test_without_a_key_every_door_is_closed(house: House, token: str) -> None:
    name = house.open()
    with house.client(token) as client:
        sent = [
            client.post(f"/session{path}", json={}) for path in ("", f"/{name}", f"/{name}/reset")
        ]
        sent += [client.get("/info"), client.get(f"/session/{name}/stream")]
    for one in sent:
        assert one.status_code == 401
        assert one.headers["www-authenticate"] == "Bearer"
        assert one.json() == {
            "ok": False,
            "error": "Authorization is required for this route.",
            "code": "unauthorized",
        }


def test_a_signed_in_browser_opens_nothing(house: House) -> None:
    browser = Client()
    browser.force_login(house.owner, backend="django.contrib.auth.backends.ModelBackend")
    cookies = {"sessionid": browser.cookies["sessionid"].value}
    sent = httpx.post(f"{house.web.url}/eve/v1/session", json={"message": "x"}, cookies=cookies)
    assert sent.status_code == 401


def test_a_stream_that_is_not_yours_is_gone_for_good(house: House) -> None:
    """410 and no 404: the clients ask again after that for most of a minute."""
    machine = api_keys.create_key(name="machine", scopes=["run:read"], agent=house.agent)[1]
    name = house.open()
    for token, path in ((machine, name), (house.key, "wrun_nobody")):
        with house.client(token) as client:
            sent = client.get(f"/session/{path}/stream")
        assert (sent.status_code, sent.json()["code"]) == (410, "session_expired")


def test_a_key_that_is_revoked_opens_nothing_more(house: House) -> None:
    token = key_for(house.agent, house.owner, name="short-lived")
    with house.client(token) as client:
        assert client.get("/info").status_code == 200
        api_keys.revoke_key("short-lived")
        assert client.get("/info").status_code == 401


def test_other_methods_and_addresses_are_refused_in_json(house: House) -> None:
    name = house.open()
    with house.client() as client:
        wrong = client.get("/session")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        for path in ("/nothing", f"/session/{name}/compact", "/session/", f"/session/{name}/"):
            sent = client.post(path, json={})
            assert (sent.status_code, sent.json()["ok"]) == (404, False), path
        for index in ("abc", "1.5", "", "--1", "1e3", "9" * 40, "²"):
            sent = client.get(f"/session/{name}/stream", params={"startIndex": index})
            assert (sent.status_code, sent.json()["error"]) == (
                400,
                "Expected startIndex to be an integer.",
            )


@pytest.mark.parametrize("size", [300_000, 2_000_000])
def test_what_is_too_large_is_refused(house: House, size: int) -> None:
    with house.client() as client:
        sent = client.post("/session", content=b'{"message":"' + b"a" * size + b'"}')
    assert (sent.status_code, sent.json()["code"]) == (413, "too_large")
