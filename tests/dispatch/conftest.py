"""Real workers on a database that each test has to itself: jobs and all."""

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
    """A migrated, empty database of this test alone, which the processes it starts use too."""
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
    """Starts a worker that is ready; whatever is left of all of them in the end is killed."""
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
