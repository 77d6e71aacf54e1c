"""Everything that `manage.py up` brings up on one machine, and takes down again."""

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

from django.conf import settings
from django.contrib.auth.models import User
from django.http.request import split_domain_port, validate_host

from workspace.accounts.sign_in_links import issue_path
from workspace.local.database import CannotRunError, check_database, disconnect, prepare_database
from workspace.local.lock import InstanceLock
from workspace.local.port import PortError, address_for_people, open_port
from workspace.local.postgres.instance import LocalPostgres, PostgresError
from workspace.local.state import PROJECT, StateError, make_state_folder, state_dir
from workspace.local.supervisor import Supervisor

READY_SECONDS = 60.0
EARLY_DEATHS = 3  # of the web process, before it ever answered
EARLY_ERRORS = 10  # answers that say the web process does not work, before one that it does
WORKING = range(200, 500)  # a redirect to https, or a host that is not allowed, is an answer too
TEND_SECONDS = 0.2
LOOK_AT_DATABASE_SECONDS = 2.0
LAST_ONE_ENDS_SECONDS = 10.0
OWNER = "owner"


class StopRequested(BaseException):
    """Ctrl-C, SIGTERM or a closed terminal."""


@dataclass(frozen=True)
class Plan:
    """What to bring up."""

    host: str
    port: int
    world: str
    workers: int


def run_workspace(plan: Plan, say: Callable[[str], None]) -> None:
    """Bring everything up, keep it up until asked to stop, and take it down.

    ``say`` prints one line. Raises CannotRunError when it cannot start.
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
            say(f"Ready: {address_to_open(address)}{entry_path()}")
            disconnect()
            keep_running(supervisor, database, say)
        except StopRequested:
            say("Stopping")
        except (PortError, PostgresError, StateError) as error:
            raise CannotRunError(str(error)) from error


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Turn the first signal that asks us to stop into StopRequested, and ignore the next ones."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for asked in asking:
            signal.signal(asked, signal.SIG_IGN)
        raise StopRequested

    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # What was ignored when we started stays ignored: that is how nohup works.
    asking = [number for number in every if signal.getsignal(number) is not signal.SIG_IGN]
    before = [signal.signal(number, stop) for number in asking]
    try:
        yield
    finally:
        for number, handler in zip(asking, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def taken_port(plan: Plan) -> Iterator[socket.socket]:
    """Listen on the port before anything is started, so that two at once cannot both go on."""
    state = state_dir()
    make_state_folder(state)
    claim = InstanceLock(state, plan.port)
    free = plan.port == 0 or claim.take()
    if not free:
        raise CannotRunError(
            f"Needs You runs already from {state} on port {plan.port} (process {claim.holder()}): "
            "use that one, stop it, or choose another port with --port.",
            code=3,
        )
    try:
        with _listening(plan, patient=claim.left_by_killed) as listener:
            yield listener
    finally:
        claim.release()


def _listening(plan: Plan, *, patient: bool) -> socket.socket:
    """Listen. The web process of an `up` that was killed may need a moment until it is gone too."""
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
    """The database of DATABASE_URL when it answers, else the private one, started."""
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
    """Start the web process on our socket, and so many workers."""
    manage = [sys.executable, str(PROJECT / "manage.py")]
    if listener.family == socket.AF_INET6:
        # daphne takes over IPv4 sockets only; this one it opens by itself.
        host, port = listener.getsockname()[:2]
        listener.close()
        supervisor.start("web", [*manage, "web", "--host", host, "--port", str(port)])
    else:
        descriptor = listener.fileno()
        supervisor.start("web", [*manage, "web", "--fd", str(descriptor)], pass_fds=[descriptor])
    for _ in range(workers):
        supervisor.start("worker", [*manage, "worker"])


def wait_until_healthy(address: str, supervisor: Supervisor) -> None:
    """Wait for the first answer of the web process; give up on one that dies or only errs."""
    web = supervisor.children[0]
    deadline = time.monotonic() + READY_SECONDS
    errors = 0
    while (status := status_of(address, "/healthz")) not in WORKING:
        supervisor.tend()
        errors += status is not None
        if web.deaths >= EARLY_DEATHS or errors >= EARLY_ERRORS or time.monotonic() > deadline:
            raise CannotRunError("The web process does not work; what it said is above.")
        time.sleep(TEND_SECONDS)


def address_answers(address: str, path: str) -> bool:
    """Whether a GET is answered by a working web process."""
    return status_of(address, path) in WORKING


def status_of(address: str, path: str) -> int | None:
    """The HTTP status of a GET, or None without an answer. No proxy stands in between."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=5)
    try:
        connection.request("GET", path, headers={"Host": allowed_host(place.netloc)})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def allowed_host(local: str) -> str:
    """``local`` (host:port) itself, or the first host that ALLOWED_HOSTS lets in instead."""
    host, _ = split_domain_port(local)
    if not settings.ALLOWED_HOSTS or validate_host(host, settings.ALLOWED_HOSTS):
        return local
    return str(settings.ALLOWED_HOSTS[0]).lstrip(".")


def address_to_open(address: str) -> str:
    """Where a browser opens Needs You: this machine's address, or the host that is allowed."""
    local = urlsplit(address)
    host = allowed_host(local.netloc)
    if host == local.netloc:
        return address
    return f"https://{host}" if settings.HTTPS else f"http://{host}:{local.port}"


def entry_path() -> str:
    """A one-time sign-in path for the owner, or the front page while there is nobody to sign in."""
    people = User.objects.filter(is_active=True)
    person = people.filter(username=OWNER).first() or people.filter(is_superuser=True).first()
    return issue_path(person) if person else "/"


def keep_running(
    supervisor: Supervisor, database: LocalPostgres | None, say: Callable[[str], None]
) -> None:
    """Start again whatever ends, until StopRequested."""
    next_look = 0.0
    while True:
        supervisor.tend()
        if database is not None and time.monotonic() > next_look:
            if database.server.pid() is None:
                say("PostgreSQL ended; starting it again")
                _start_again(database, say)
            next_look = time.monotonic() + LOOK_AT_DATABASE_SECONDS
        time.sleep(TEND_SECONDS)


def leave(database: LocalPostgres, say: Callable[[str], None]) -> None:
    """Stop the private PostgreSQL unless another process of this state folder is on it."""
    try:
        if not database.leave():
            say("PostgreSQL goes on: something else uses it")
    except (OSError, PostgresError) as error:
        say(f"PostgreSQL was not stopped: {error}")


def _start_again(database: LocalPostgres, say: Callable[[str], None]) -> None:
    try:
        database.start()
    except PostgresError as error:
        say(str(error))
