"""/v1/responses over real HTTP, with a real worker: streams, errors, drops and deaths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.responses.houses import (
    House,
    answering,
    asking,
    eventually,
    frames,
    house_on_its_own,
)
from tests.responses.strict import DONE, check_events, read_stream
from workspace.protocols.responses.models import Response


@pytest.fixture(scope="module")
def house(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    with house_on_its_own(pytestconfig, django_db_blocker, folder) as found:
        yield found


@pytest.fixture(autouse=True)
def _house_is_up(house: House) -> Iterator[None]:
    """A test that ended a process and failed must not fail the rest."""
    yield
    for process in (house.web, house.worker):
        if not process.is_running():
            process.start()


def stream(house: House, **body: Any) -> bytes:
    with house.client() as client:
        sent = client.post("/responses", json={**body, "stream": True})
    assert sent.headers["content-type"] == "text/event-stream"
    check_events(read_stream(sent.content))
    return sent.content


def test_a_stream_is_not_buffered(house: House) -> None:
    """Its first events are here while the run goes on; comments show meanwhile that it lives."""
    with (
        house.client() as client,
        client.stream("POST", "/responses", json=asking("slow", stream=True)) as sent,
    ):
        assert sent.headers["x-accel-buffering"] == "no"
        assert sent.headers["cache-control"] == "no-cache"
        assert "content-encoding" not in sent.headers
        heard = b""
        for chunk in sent.iter_raw():
            heard += chunk
            if b"output_text.delta" in heard and b": keep-alive\n\n" in heard:
                break
        assert Response.objects.get(public_id=frames(heard)[0]["response"]["id"]).is_under_way


@pytest.mark.case("responses-S51")
def test_a_reader_that_goes_away_stops_nothing_and_can_come_back(house: House) -> None:
    with (
        house.client() as client,
        client.stream("POST", "/responses", json=asking("ask", stream=True)) as sent,
    ):
        first = next(sent.iter_raw())
    name = frames(first)[0]["response"]["id"]
    last = frames(first)[-1]["sequence_number"]
    eventually(lambda: not Response.objects.get(public_id=name).is_under_way, "the run is over")

    with house.client() as client:
        rest = client.get(f"/responses/{name}", params={"stream": True, "starting_after": last})
        whole = client.get(f"/responses/{name}", params={"stream": True})
        nothing = client.get(f"/responses/{name}", params={"stream": True, "starting_after": 10**6})

    told = frames(first) + frames(rest.content)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert told == frames(whole.content)
    assert told[-1]["type"] == "response.completed"
    assert (nothing.status_code, nothing.content) == (200, DONE.encode())


def test_a_replay_is_the_same_to_the_byte(house: House) -> None:
    first = stream(house, **asking("ask"))
    name = frames(first)[0]["response"]["id"]

    with house.client() as client:
        again = client.get(f"/responses/{name}", params={"stream": True}).content

    assert again == first.replace(b": keep-alive\n\n", b"")


def test_a_call_without_stream_waits_for_its_run(house: House) -> None:
    paused = house.ask()

    assert paused["envelope"]["status"] == "awaiting_human"
    done = house.answer(paused, "EU")
    assert done.json()["status"] == "completed"
    assert done.headers["x-request-id"].startswith("req_")


def test_the_same_answer_again_streams_the_same_response(house: House) -> None:
    paused = house.ask()
    done = house.answer(paused, "EU").json()

    told = frames(stream(house, **answering(paused, "EU")))

    assert told[-1]["response"] == done


def test_an_answer_is_accepted_once_over_a_lost_connection(house: House) -> None:
    """The web process dies with the answer under way; the client library sends it again."""
    paused = house.ask("ask")
    with (
        house.client() as client,
        suppress(httpx.TransportError),
        client.stream("POST", "/responses", json=answering(paused, "EU", stream=True)) as sent,
    ):
        chunks = sent.iter_raw()
        next(chunks)
        house.web.kill()
        for _ in chunks:
            pass
    house.web.start()

    again = house.answer(paused, "EU").json()

    assert again["status"] == "completed"
    assert Response.objects.filter(previous__public_id=paused["id"]).count() == 1


@pytest.mark.case("responses-S51", "responses-S21")
@pytest.mark.parametrize("victim", ["web", "worker"])
def test_a_stream_has_no_gap_over_a_death(house: House, victim: str) -> None:
    with house.client() as client:
        made = client.post("/responses", json=asking("slow", background=True)).json()
    name, told = made["id"], b""

    def follow() -> bool:
        nonlocal told
        seen = frames(told)
        after = seen[-1]["sequence_number"] if seen else -1
        query = {"stream": True, "starting_after": after}
        with (
            house.client() as client,
            client.stream("GET", f"/responses/{name}", params=query) as sent,
        ):
            try:
                for chunk in sent.iter_raw():
                    told += chunk
                    if b"output_text.delta" in told and not died:
                        return False
            except httpx.TransportError:
                return False
        return True

    died = False
    follow()
    process = house.web if victim == "web" else house.worker
    process.kill()
    process.start()
    died = True
    eventually(follow, "the stream is over")

    seen = frames(told)
    assert [event["sequence_number"] for event in seen] == list(range(len(seen)))
    assert seen[-1]["type"] == "response.completed"


def test_cancelling_ends_the_brain(house: House) -> None:
    with house.client() as client:
        made = client.post("/responses", json=asking("slow", background=True)).json()
        name = made["id"]
        eventually(lambda: Response.objects.get(public_id=name).next_seq > 8, "it is at work")
        run = Response.objects.get(public_id=name).run
        assert run is not None
        pid = int(run.process["pid"])
        cancelled = client.post(f"/responses/{name}/cancel")

    assert cancelled.json()["status"] == "cancelled"
    eventually(lambda: not _is_alive(pid), "the brain is dead")


def _is_alive(pid: int) -> bool:
    from agents.running.process_groups import started

    return bool(started(pid))


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/responses", 405, None),
        ("PUT", "/responses/resp_x", 405, None),
        ("GET", "/responses/resp_nope", 404, None),
        ("DELETE", "/responses/resp_nope", 404, None),
        ("POST", "/responses/resp_nope/cancel", 404, None),
        ("GET", "/responses/resp_nope/input_items", 404, None),
        ("GET", "/responses/resp_nope?starting_after=x", 400, "invalid_value"),
        ("POST", "/responses", 400, "invalid_json"),
    ],
)
def test_errors_are_the_protocols(
    house: House, method: str, path: str, status: int, code: str | None
) -> None:
    with house.client() as client:
        sent = client.request(method, path)

    assert sent.status_code == status
    error = sent.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert sent.headers["x-request-id"]


def test_without_a_living_key_nothing_opens(house: House) -> None:
    for token in ("x", "wrong", "ny_000000000000_" + "a" * 43):
        with house.client(token) as client:
            sent = client.post("/responses", json=asking())
        assert (sent.status_code, sent.json()["error"]["code"]) == (401, "invalid_api_key")
        assert "Bearer" in sent.headers["www-authenticate"]


def test_a_signed_in_browser_opens_nothing(house: House) -> None:
    browser = Client()
    browser.force_login(house.owner, backend="django.contrib.auth.backends.ModelBackend")
    cookies = {"sessionid": browser.cookies["sessionid"].value}

    sent = httpx.post(f"{house.web.url}/v1/responses", json=asking(), cookies=cookies)

    assert sent.status_code == 401


def test_what_is_too_large_is_refused(house: House) -> None:
    with house.client() as client:
        sent = client.post("/responses", content=b'{"input":"' + b"a" * 1_200_000 + b'"}')

    assert sent.status_code == 413


def test_input_items_are_paged(house: House) -> None:
    items = [{"role": "user", "content": f"m{n}"} for n in range(3)]
    with house.client() as client:
        name = client.post("/responses", json={"input": items}).json()["id"]
        newest = client.get(f"/responses/{name}/input_items", params={"limit": 2}).json()
        rest = client.get(
            f"/responses/{name}/input_items", params={"after": newest["last_id"]}
        ).json()
        bad = client.get(f"/responses/{name}/input_items", params={"limit": 101})

    assert [item["content"][0]["text"] for item in newest["data"]] == ["m2", "m1"]
    assert newest["has_more"] is True
    assert [item["content"][0]["text"] for item in rest["data"]] == ["m0"]
    assert rest["has_more"] is False
    assert bad.status_code == 400


def test_an_address_with_a_slash_is_not_redirected(house: House) -> None:
    with house.client() as client:
        sent = client.post("/responses/", json=json.loads("{}"))

    assert sent.status_code == 404
