"""One look answers for /readyz, for the banner of every page, for its words and for the toast."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from psycopg import errors
from pytest_django import DjangoAssertNumQueries

from agents import claims, controls
from agents.models import Run, Session
from tests.pages import world
from tests.pages.html import Element, read
from workspace.health import look

PAGES = ("needs_you", "backlog", "agents", "decisions", "delegations", "hours", "given_up")


def health_of(page: Element) -> Element:
    return page.one("div", id="health")


def queued(owner: User, slug: str) -> Run:
    run = controls.start_session(
        session_id=world.home(world.agent_of(owner, slug=slug)).pk, by=owner
    )
    assert run is not None
    return run


def running(owner: User, slug: str) -> Run:
    run = queued(owner, slug)
    assert claims.claim_run(run_id=run.pk, worker="test")
    return run


def behind() -> None:
    sql("DELETE FROM django_migrations WHERE app = 'asks' AND name LIKE '0002%'")


def ahead() -> None:
    sql("INSERT INTO django_migrations (app, name, applied) VALUES ('asks', '9999_later', now())")


def full() -> None:
    sql("SET temp_file_limit = 0")


def stalled() -> None:
    sql("UPDATE agents_run SET queued_at = now() - interval '2 minutes'")


def no_worker() -> None:
    sql("DELETE FROM procrastinate_workers")


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    look.forget()


WRONG = [
    (no_worker, "worker", "No worker runs"),
    (stalled, "queue", "The queue is stalled"),
    (full, "disk", "disk of the database is full"),
    (behind, "migrations", "not at this version's migrations"),
    (ahead, "version", "belongs to a newer version"),
]


@pytest.fixture(autouse=True)
def _disk_again(db: None) -> object:
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET temp_file_limit")


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("where", PAGES)
def test_no_page_has_a_banner_while_all_is_well(as_owner: Client, where: str) -> None:
    assert health_of(read(as_owner.get(reverse(where)).content)).words == ""


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("break_it", "name", "words"), WRONG)
def test_what_readyz_says_every_page_says(
    as_owner: Client, owner: User, break_it: Callable[[], None], name: str, words: str
) -> None:
    queued(owner, "first")
    break_it()
    answer = as_owner.get("/readyz")
    assert (answer.status_code, list(answer.json()["wrong"])) == (503, [name])
    assert words in answer.json()["wrong"][name]
    for page in PAGES:
        banner = health_of(read(as_owner.get(reverse(page)).content))
        assert answer.json()["wrong"][name] in banner.words


@pytest.mark.usefixtures("worker")
def test_a_busy_worker_is_no_stalled_queue(as_owner: Client, owner: User) -> None:
    queued(owner, "first")
    running(owner, "second")
    stalled()
    assert as_owner.get("/readyz").status_code == 200


@pytest.mark.usefixtures("worker")
def test_a_paused_agent_is_no_stalled_queue(as_owner: Client, owner: User) -> None:
    run = queued(owner, "first")
    Session.objects.filter(pk=run.session_id).update(state="paused")
    stalled()
    assert as_owner.get("/readyz").status_code == 200


def test_an_open_page_asks_without_a_sign_in_and_hears_only_news(client: Client, db: None) -> None:
    first = client.get("/health/banner")
    assert "No worker runs" in read(first.content).words
    again = client.get("/health/banner", {"shown": "worker"})
    assert (again.status_code, again.content) == (204, b"")


@pytest.mark.usefixtures("worker")
def test_a_banner_that_is_over_keeps_its_place(client: Client) -> None:
    kept = read(client.get("/health/banner", {"shown": "worker", "first": "worker"}).content)
    assert "works again" in kept.words
    gone = read(client.get("/health/banner", {"shown": "worker", "first": ""}).content)
    assert gone.words == ""


def test_the_database_away_is_said_to_open_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> object:
        raise OperationalError("connection refused")

    monkeypatch.setattr(look, "_read", away)
    words = read(client.get("/health/banner").content).words
    assert "The database does not answer." in words


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (errors.ConnectionFailure("refused"), "The database does not answer."),
        (errors.DiskFull("no space left"), "The disk of the database is full"),
    ],
)
def test_a_page_that_fails_for_the_database_says_so(
    as_owner: Client, monkeypatch: pytest.MonkeyPatch, cause: Exception, words: str
) -> None:
    def fails(*_: object) -> object:
        raise OperationalError("a secret address") from cause

    monkeypatch.setattr("workspace.pages.agents._with_home", fails)
    as_owner.raise_request_exception = False
    answer = as_owner.get("/agents/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    page = read(answer.content).words
    assert words in page
    assert "secret" not in page
    assert words in read(as_owner.get("/health/banner").content).words


def test_a_statement_that_fails_is_no_outage(
    as_owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise OperationalError("deadlock") from errors.DeadlockDetected()

    monkeypatch.setattr("workspace.pages.agents._with_home", fails)
    as_owner.raise_request_exception = False
    assert as_owner.get("/agents/").status_code == 500


@pytest.mark.usefixtures("worker")
def test_one_query_serves_many_pages(
    as_owner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    look.look_now()
    with django_assert_num_queries(0):
        for _ in range(5):
            look.recent_health()
    look.forget()
    with django_assert_num_queries(3):  # with a savepoint, inside a test's transaction
        look.recent_health()


# --- the words -------------------------------------------------------------------------------


@pytest.mark.usefixtures("worker")
def test_queued_is_another_word_than_running(as_owner: Client, owner: User) -> None:
    queued(owner, "first")
    running(owner, "second")
    page = read(as_owner.get("/").content)
    assert "first" in page.one("section", aria_labelledby="g-queued").words
    assert "Queued" in page.one("section", aria_labelledby="g-queued").words
    assert "second" in page.one("section", aria_labelledby="g-work").words
    words = page.one("p", data_none=None).words
    assert "1 session is working." in words
    assert "1 session waits for a worker." in words


def test_without_a_worker_nothing_is_working(
    as_owner: Client, owner: User, worker_dies: Callable[[], None]
) -> None:
    for number in range(6):
        queued(owner, f"queued-{number}")
    session = running(owner, "running").session
    worker_dies()
    page = read(as_owner.get("/").content)
    assert "7 sessions wait for a worker." in page.one("p", data_none=None).words
    assert "is working" not in page.words
    for path in ("/", "/agents/", "/agents/running/", f"/sessions/{session.pk}/"):
        seen = read(as_owner.get(path).content)
        assert "Running" not in [pill.words for pill in seen.all(class_="pill")]
        assert seen.all(class_="pill--live") == []


def test_without_a_worker_a_time_that_is_past_is_not_scheduled(
    as_owner: Client, owner: User
) -> None:
    home = world.home(world.agent_of(owner))
    Session.objects.filter(pk=home.pk).update(
        status="SCHEDULED", wake_cause="schedule", wake_at=timezone.now() - timedelta(hours=1)
    )
    page = read(as_owner.get(f"/sessions/{home.pk}/").content)
    assert page.one("span", class_="pill").words == "Queued"


@pytest.mark.parametrize("alive", [True, False])
def test_the_toast_is_true(
    as_owner: Client, owner: User, worker_dies: Callable[[], None], *, alive: bool
) -> None:
    ask = world.asked(world.agent_of(owner, slug="billing"))
    if not alive:
        worker_dies()
    answer = as_owner.post(
        f"/asks/{ask.pk}/answer", {"option": "eu"}, headers={"HX-Request": "true"}
    )
    toast = read(answer.content).one("div", id="toasts").words
    goes_on = "billing continues." if alive else "billing continues when a worker runs."
    assert f"Recorded: EU ledger. {goes_on}" in toast


@pytest.mark.parametrize("alive", [True, False])
def test_a_start_says_what_it_comes_to(
    as_owner: Client, owner: User, worker_dies: Callable[[], None], *, alive: bool
) -> None:
    home = world.home(world.agent_of(owner, slug="billing"))
    if not alive:
        worker_dies()
    page = read(as_owner.post(f"/sessions/{home.pk}/start", follow=True).content)
    words = "billing is started." if alive else "billing is queued. It starts when a worker runs."
    assert words in page.one("div", id="toasts").words
