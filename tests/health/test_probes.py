"""Health, readiness and metrics, for probes and Prometheus only."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, override_settings
from pytest_django import DjangoAssertNumQueries

from agents.db.retrying import LOST
from agents.models import Session
from asks import answering
from tests.admin import world
from tests.pages import world as asking
from workspace.health import look

LOOPBACK: dict[str, Any] = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost"}
AWAY: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.7", "HTTP_HOST": "localhost"}


@pytest.mark.parametrize("address", ["/healthz", "/readyz", "/metrics"])
@pytest.mark.django_db
def test_probes_only_read(client: Client, address: str) -> None:
    assert client.post(address, **LOOPBACK).status_code == 405
    answer = client.head(address, **LOOPBACK)
    assert answer.status_code in {200, 503}
    assert "no-store" in answer["Cache-Control"]


def test_alive_asks_no_database(client: Client) -> None:
    """Any query would fail, because this test has no database."""
    client.cookies["sessionid"] = "somebody's"
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"alive\n")


@pytest.mark.usefixtures("worker")
def test_ready_when_all_is_there(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "wrong": {}})


@pytest.mark.django_db
def test_not_ready_without_a_worker(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert list(answer.json()["wrong"]) == ["worker"]


@pytest.mark.usefixtures("worker")
def test_not_ready_with_a_worker_that_fell_silent(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"
        )
    assert list(client.get("/readyz").json()["wrong"]) == ["worker"]


@pytest.mark.usefixtures("worker")
def test_not_ready_before_the_migrations(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'asks' AND name LIKE '0002%'")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert list(answer.json()["wrong"]) == ["migrations"]


@pytest.mark.parametrize("error", LOST)
def test_not_ready_without_a_database_and_silent_about_why(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def away() -> tuple[bool, bool, float, list[str]]:
        raise error("password for needs_you@10.0.0.5 refused")

    monkeypatch.setattr(look, "_read", away)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["wrong"] == {"database": "The database does not answer."}


def figures(client: Client) -> dict[str, float]:
    """Return the values of /metrics by name, parsed as Prometheus does."""
    answer = client.get("/metrics", **LOOPBACK)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    found = {}
    for line in answer.content.decode().splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) needs_you_[a-z_]+ .+", line)
            continue
        match = re.fullmatch(r'(needs_you_[a-z_]+(?:\{status="[a-z_]+"\})?) ([0-9.e+-]+)', line)
        assert match, line
        found[match[1]] = float(match[2])
    return found


@pytest.mark.django_db
def test_nothing_yet(client: Client) -> None:
    assert set(figures(client).values()) == {0.0}


@pytest.mark.django_db
def test_what_is_counted(client: Client) -> None:
    owner = world.person("olga")
    first, second = asking.agent_of(owner, slug="first"), asking.agent_of(owner, slug="second")
    asking.asked(first)
    answered = asking.asked(second)
    asking.turn(asking.agent_of(owner, slug="third"))
    found = figures(client)
    assert found["needs_you_open_asks"] == 2
    assert found["needs_you_blocked_sessions"] == 1
    assert found['needs_you_runs{status="waiting_human"}'] == 2
    assert found['needs_you_runs{status="completed"}'] == 1
    assert found['needs_you_runs{status="queued"}'] == 0
    assert found["needs_you_oldest_wait_seconds"] >= 0
    assert found["needs_you_events_total"] == sum(
        Session.objects.values_list("last_seq", flat=True)
    )
    jobs = found["needs_you_queue_depth"]
    answering.answer_ask(ask_id=answered.pk, by=owner, option="eu")
    found = figures(client)
    assert found["needs_you_open_asks"] == 1
    assert found['needs_you_runs{status="queued"}'] == 1
    assert found["needs_you_queue_depth"] == jobs + 1


@pytest.mark.django_db
def test_the_oldest_wait(client: Client) -> None:
    asking.asked(asking.agent_of(world.person("olga")))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE asks_ask SET opened_at = now() - interval '1 hour'")
    assert 3600 <= figures(client)["needs_you_oldest_wait_seconds"] < 3700


@pytest.mark.django_db
def test_counting_takes_four_queries(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(4):
        client.get("/metrics", **LOOPBACK)


@pytest.mark.parametrize(
    "asking_for",
    [
        {},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
    ],
)
@pytest.mark.parametrize("away", [AWAY, {"REMOTE_ADDR": ""}, {"REMOTE_ADDR": "::ffff:192.0.2.7"}])
@pytest.mark.django_db
def test_strangers_count_nothing(
    client: Client, away: dict[str, Any], asking_for: dict[str, Any]
) -> None:
    assert client.get("/metrics", **{**LOOPBACK, **away, **asking_for}).status_code == 403
    if asking_for:
        assert client.get("/metrics", **{**LOOPBACK, **asking_for}).status_code == 403


@override_settings(ALLOWED_HOSTS=["*"])
@pytest.mark.django_db
def test_a_page_that_rebinds_its_name_to_this_machine_counts_nothing(client: Client) -> None:
    answer = client.get("/metrics", REMOTE_ADDR="127.0.0.1", HTTP_HOST="evil.example")
    assert answer.status_code == 403


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1"])
@pytest.mark.django_db
def test_programs_on_this_machine_count(client: Client, address: str) -> None:
    assert client.get("/metrics", **{**LOOPBACK, "REMOTE_ADDR": address}).status_code == 200


@pytest.mark.parametrize(
    ("staff", "active", "status"), [(True, True, 200), (False, True, 403), (True, False, 403)]
)
@pytest.mark.django_db
def test_staff_count_from_anywhere(*, staff: bool, active: bool, status: int) -> None:
    person: User = world.person("ada", staff=staff)
    client = Client()
    client.force_login(person)
    User.objects.filter(pk=person.pk).update(is_active=active)
    assert client.get("/metrics", **AWAY).status_code == status
