"""What every test stands on: a real PostgreSQL, and a database of its own per pytest process."""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pgtrigger
import pytest
from django.conf import settings
from hypothesis import HealthCheck
from hypothesis import settings as draws
from pytest_django import DjangoDbBlocker

from tests.database import TestServer, flush_quickly
from tests.temporary import one_temporary_folder

# As in manage.py: what is loaded and collected stays, and need not be looked through meanwhile.
gc.set_threshold(100_000, 20, 50)

# How long a draw takes tells how busy the machine is, and nothing else.
draws.register_profile("any machine", suppress_health_check=[HealthCheck.too_slow], deadline=None)
draws.load_profile("any machine")

QUICK_HASHER = "django.contrib.auth.hashers.MD5PasswordHasher"
SERVER = pytest.StashKey[TestServer]()
TEMPORARY = pytest.StashKey[ExitStack]()
STATE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Have the server before anything connects, and keep away from this machine's own state."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job ignores Ctrl-C, and so would every process that tests start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    temporary = config.stash[TEMPORARY] = ExitStack()
    if not hasattr(config, "workerinput"):  # xdist's processes use the folder of the one above
        temporary.enter_context(one_temporary_folder())
    server = config.stash[SERVER] = TestServer()
    server.start()
    flush_quickly()
    # Of this process alone: what one test sweeps away must not be another's.
    state = config.stash[STATE] = tempfile.TemporaryDirectory(prefix="state-", dir=server.folder)
    os.environ["NEEDS_YOU_STATE"] = state.name
    settings.STATE_DIR = Path(state.name)
    settings.SECRET_KEY = os.environ["SECRET_KEY"] = "signs what tests and their servers exchange"
    # Answers take effect at once, here and in the processes that tests start; tests/undo sets it.
    settings.NEEDS_YOU_UNDO_SECONDS = 0
    os.environ["NEEDS_YOU_UNDO_SECONDS"] = "0"
    # Quick, for the many people that tests make; the servers of browser tests do not know it.
    settings.PASSWORD_HASHERS = [QUICK_HASHER, *settings.PASSWORD_HASHERS]
    # Each test client has middleware of its own, and would go through all static files for it.
    settings.WHITENOISE_AUTOREFRESH = True


def pytest_collection_finish() -> None:
    """What is there by now stays; that the collector looks at it again costs a tenth of all time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if state := config.stash.get(STATE, None):
        state.cleanup()
    server = config.stash.get(SERVER, None)
    if server:
        server.leave()
    if temporary := config.stash.get(TEMPORARY, None):
        temporary.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Let the flush after a transactional test empty the tables that otherwise only grow."""
    with pgtrigger.ignore():
        yield


@pytest.fixture(autouse=True)
def _without_a_credential() -> None:
    """Begin as a request does: with no key of the one before, which an async client leaves behind."""
    from asks.ledger import credential

    credential.act_with("")


@pytest.fixture(autouse=True)
def _all_is_well() -> Iterator[None]:
    """Pages of this process find a workspace in order, without a look; tests of health forget it."""
    from workspace.health import look

    look.keep(look.Health(), seconds=3600)
    yield
    look.forget()


@pytest.fixture(scope="session")
def django_db_setup(
    pytestconfig: pytest.Config,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Replace pytest-django's: copy a migrated template instead of migrating in each process."""
    server = pytestconfig.stash[SERVER]
    with django_db_blocker.unblock(), server.fresh_database(), django_db_blocker.block():
        yield
