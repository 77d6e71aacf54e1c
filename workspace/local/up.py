"""Start everything that `manage.py up` runs on one machine, and stop it again."""

import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from urllib.parse import urlsplit

from django.contrib.auth.models import User

from workspace.accounts.sign_in_links import issue_path
from workspace.local.address import address_to_open, allowed_host
from workspace.local.database import CannotRunError, check_database, disconnect, prepare_database
from workspace.local.lock import InstanceLock
from workspace.local.port import PortError, address_for_people, open_port
from workspace.local.postgres.instance import LocalPostgres, PostgresError
from workspace.local.state import PROJECT, StateError, make_state_folder, state_dir
from workspace.local.supervisor import Supervisor

READY_SECONDS = 60.0
EARLY_DEATHS = 3  # of the web process, before it ever answered
EARLY_ERRORS = 10  # responses with a server error, before the first good one
WORKING = range(200, 500)  # a redirect to https or a refused host is an answer too
TEND_SECONDS = 0.2
LOOK_AT_DATABASE_SECONDS = 2.0
LAST_ONE_ENDS_SECONDS = 10.0
OWNER = "owner"


class StopRequested(BaseException):
    """Ctrl-C, SIGTERM or a closed terminal."""


@dataclass(frozen=True)
class Plan:
    """What to start."""

    host: str
    port: int
    world: str
    workers: int


def run_workspace(plan: Plan, say: Callable[[str], None]) -> None:
    """Start everything, keep it running until asked to stop, and stop it.

    ``say`` prints one line. Raises CannotRunError if it cannot start.
    """
    with stopping_on_signals(), ExitStack() as down:
        try:
            listener = down.enter_context(taken_port(plan))
            database = down.enter_context(database_up(say))
            url = database.url() if database else os.environ["DATABASE_URL"]
            prepare_database(url, plan.world, say)
            supervisor = Supervisor(say)
            down.callback(supervisor.stop)
            address = address_for_people(listener)
            start_children(supervisor, listener, workers=plan.workers)
            wait_until_healthy(address, supervisor)
            path = entry_path()
            if path == "/":
                say("Nobody can sign in yet: make an owner with `manage.py createsuperuser`")
            say(f"Ready: {address_to_open(address)}{path}")
            disconnect()
            keep_running(supervisor, database, say)
        except StopRequested:
            say("Stopping")
        except (PortError, PostgresError, StateError) as error:
            raise CannotRunError(str(error)) from error


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Raise StopRequested at the first signal that asks us to stop; ignore later ones."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for asked in asking:
            signal.signal(asked, signal.SIG_IGN)
        raise StopRequested

    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # A signal that was ignored when we started stays ignored: that is how nohup works.
    asking = [number for number in every if signal.getsignal(number) is not signal.SIG_IGN]
    before = [signal.signal(number, stop) for number in asking]
    try:
        yield
    finally:
        for number, handler in zip(asking, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def taken_port(plan: Plan) -> Iterator[socket.socket]:
    """Listen on the port before anything starts, so that of two at once only one continues."""
    state = state_dir()
    make_state_folder(state)
    lock = InstanceLock(state, plan.port)
    if plan.port != 0 and not lock.take():
        raise CannotRunError(
            f"Needs You is already running from {state} on port {plan.port} (process {lock.holder()}): "
            "use that instance, stop it, or choose another port with --port.",
            code=3,
        )
    try:
        with _listening(plan, patient=lock.left_by_killed) as listener:
            if plan.port == 0:
                lock = InstanceLock(state, listener.getsockname()[1])
                lock.take()
            lock.name_address(address_for_people(listener))
            yield listener
    finally:
        lock.release()


def _listening(plan: Plan, *, patient: bool) -> socket.socket:
    """Listen. The web process of a killed `up` may take a moment to end."""
    deadline = time.monotonic() + LAST_ONE_ENDS_SECONDS
    while True:
        try:
            return open_port(plan.host, plan.port)
        except PortError as error:
            if not (error.busy and patient) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@contextmanager
def database_up(say: Callable[[str], None]) -> Iterator[LocalPostgres | None]:
    """Check the database of DATABASE_URL, or start the private one if there is none."""
    url = os.environ.get("DATABASE_URL")
    if url:
        check_database(url)
        say("Using the database of DATABASE_URL")
        yield None
        return
    database = LocalPostgres(state_dir())
    say(f"Starting the private PostgreSQL in {database.state}")
    try:
        database.start()
        yield database
    finally:
        disconnect()
        leave(database, say)


def start_children(supervisor: Supervisor, listener: socket.socket, *, workers: int) -> None:
    """Start the web process on our socket, and the workers."""
    manage = [sys.executable, str(PROJECT / "manage.py")]
    if listener.family == socket.AF_INET6:
        # daphne can take over IPv4 sockets only, so it opens this one itself.
        host, port = listener.getsockname()[:2]
        listener.close()
        supervisor.start("web", [*manage, "web", "--host", host, "--port", str(port)])
    else:
        descriptor = listener.fileno()
        supervisor.start("web", [*manage, "web", "--fd", str(descriptor)], pass_fds=[descriptor])
    for _ in range(workers):
        supervisor.start("worker", [*manage, "worker"])


def wait_until_healthy(address: str, supervisor: Supervisor) -> None:
    """Wait for the first good response of the web process.

    Raises CannotRunError if it keeps dying or responds with errors only.
    """
    web = supervisor.children[0]
    deadline = time.monotonic() + READY_SECONDS
    errors = 0
    while (status := status_of(address, "/healthz")) not in WORKING:
        supervisor.tend()
        errors += status is not None
        if web.deaths >= EARLY_DEATHS or errors >= EARLY_ERRORS or time.monotonic() > deadline:
            raise CannotRunError("The web process does not work; see its output above.")
        time.sleep(TEND_SECONDS)


def address_answers(address: str, path: str) -> bool:
    """Return whether a working web process answers a GET."""
    return status_of(address, path) in WORKING


def status_of(address: str, path: str) -> int | None:
    """Return the HTTP status of a GET, or None without a response. Proxies are not used."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=5)
    try:
        connection.request("GET", path, headers={"Host": allowed_host(place.netloc)})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def entry_path() -> str:
    """Return a one-time sign-in path for the owner, or the front page if nobody can use one."""
    people = User.objects.filter(is_active=True)
    person = people.filter(username=OWNER).first() or people.filter(is_superuser=True).first()
    return issue_path(person) if person else "/"


def keep_running(
    supervisor: Supervisor, database: LocalPostgres | None, say: Callable[[str], None]
) -> None:
    """Restart whatever ends, until StopRequested."""
    next_look = 0.0
    while True:
        supervisor.tend()
        if database is not None and time.monotonic() > next_look:
            if database.server.pid() is None:
                say("PostgreSQL ended; restarting it")
                _restart(database, say)
            next_look = time.monotonic() + LOOK_AT_DATABASE_SECONDS
        time.sleep(TEND_SECONDS)


def leave(database: LocalPostgres, say: Callable[[str], None]) -> None:
    """Stop the private PostgreSQL unless another process uses it."""
    try:
        if not database.leave():
            say("PostgreSQL keeps running: another process uses it")
    except (OSError, PostgresError) as error:
        say(f"PostgreSQL was not stopped: {error}")


def _restart(database: LocalPostgres, say: Callable[[str], None]) -> None:
    try:
        database.start()
    except PostgresError as error:
        say(str(error))
