"""A workspace whose health is looked at, with a worker or without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from tests.pages import world
from workspace.health import look


@pytest.fixture(autouse=True)
def _looks_itself(_all_is_well: None) -> Iterator[None]:
    look.forget()
    yield
    look.forget()


@pytest.fixture
def worker(db: None) -> None:
    """A worker that is alive."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")


@pytest.fixture
def worker_dies(worker: None) -> Callable[[], None]:
    def die() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'"
            )
        look.forget()

    return die


@pytest.fixture
def owner(db: None) -> User:
    return world.person("olga")


@pytest.fixture
def as_owner(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client
