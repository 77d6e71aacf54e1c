"""What every test stands on: a real PostgreSQL, and a database of its own per pytest process."""

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.database import TestServer

SERVER = pytest.StashKey[TestServer]()


def pytest_configure(config: pytest.Config) -> None:
    """Have the server before anything connects."""
    server = config.stash[SERVER] = TestServer()
    server.start()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no server behind."""
    server = config.stash.get(SERVER, None)
    if server:
        server.leave()


@pytest.fixture(scope="session")
def django_db_setup(
    pytestconfig: pytest.Config,
    django_test_environment: None,  # noqa: ARG001
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Replace pytest-django's: copy a migrated template instead of migrating in each process."""
    server = pytestconfig.stash[SERVER]
    with django_db_blocker.unblock(), server.fresh_database(), django_db_blocker.block():
        yield
