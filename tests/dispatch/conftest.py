"""Real workers, and a separate database for each test, with its own job queue."""

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.conftest import SERVER
from tests.dispatch.world import Worker


@pytest.fixture
def database(
    pytestconfig: pytest.Config,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Create a migrated, empty database for one test and the processes that it starts."""
    server = pytestconfig.stash[SERVER]
    before = str(connections["default"].settings_dict["NAME"])
    with django_db_blocker.unblock():
        with server.fresh_database():
            yield
        server.point_at(before)


@pytest.fixture
def owner(database: None) -> User:
    return User.objects.create_user("olga")


@pytest.fixture
def start_worker(tmp_path: Path, database: None) -> Iterator[Callable[..., Worker]]:
    """Return a function that starts a worker and waits until it is ready. Kill all workers at the end."""
    numbers = itertools.count(1)
    workers: list[Worker] = []

    def start(*arguments: str, **env: str) -> Worker:
        worker = Worker(*arguments, log=tmp_path / f"worker-{next(numbers)}.log", env=env)
        workers.append(worker)
        worker.start()
        return worker

    yield start
    for worker in workers:
        worker.end()
        sys.stdout.write(worker.said())  # pytest shows it when the test failed
