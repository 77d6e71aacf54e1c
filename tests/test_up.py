"""`manage.py up` with real processes and a real PostgreSQL, killed in every way."""

import contextlib
import http.cookiejar
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live_server import MANAGE, PROJECT, free_port
from workspace.local.postgres.instance import LocalPostgres
from workspace.local.process_table import PROC, is_running
from workspace.local.up import address_answers

PATIENCE = 60.0  # seconds until a test gives up; nothing is asserted about time

pytestmark = pytest.mark.skipif(not (PROC / "self").exists(), reason="looks processes up in /proc")


class Up:
    """A `manage.py up` in its own folder, with everything that it started."""

    def __init__(self, state: Path, *options: str, **env: str) -> None:
        self.port = free_port()
        self.state = state
        self._command = [*MANAGE, "up", "--state", str(state), "--port", str(self.port), *options]
        self._env = {**os.environ, "PYTHONUNBUFFERED": "1", **env}
        if "DATABASE_URL" not in env:
            self._env.pop("DATABASE_URL", None)
        self._log = tempfile.NamedTemporaryFile(prefix="up-", suffix=".log")  # noqa: SIM115
        self.process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            cwd=PROJECT,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    def wait_for(self, pattern: str) -> str:
        wait_until(lambda: self._found(pattern) or self.process.poll() is not None, self.said)
        found = self._found(pattern)
        assert found, f"{pattern!r} was never said:\n{self.said()}"
        return found.group(1)

    def _found(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.said(), re.MULTILINE)

    def ready(self) -> str:
        """Wait until it is ready; return the sign-in link."""
        return self.wait_for(r"^Ready: (http://127\.0\.0\.1:\d+/enter/\S+)$")

    def children(self) -> dict[str, int]:
        """Return the process ids of web and worker."""
        words = {pid: command_of(pid) for pid in children_of(self.process.pid)}
        return {
            name: pid
            for pid, command in words.items()
            for name in ("web", "worker")
            if name in command
        }

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        return self.process.wait(PATIENCE)

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._log.close()
        with contextlib.suppress(OSError):
            LocalPostgres(self.state).stop()


def command_of(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes().decode().split("\0")
    return []


def children_of(parent: int) -> list[int]:
    with contextlib.suppress(OSError):
        listed = (PROC / str(parent) / "task" / str(parent) / "children").read_text()
        return [int(pid) for pid in listed.split()]
    return []


def wait_until(happened: Callable[[], object], describe: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"it never happened:\n{describe()}"
        time.sleep(0.05)


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a folder that root's database account can enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="ny-up-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def stopped_state() -> Iterator[Path]:
    """The state folder of a demo world that was started once and stopped."""
    with open_folder() as folder:
        one = Up(folder / "state", "--no-worker")
        try:
            one.ready()
            one.process.terminate()
            assert one.ended() == 0, one.said()
        finally:
            one.clean_up()
        yield one.state


@pytest.fixture
def empty_state() -> Iterator[Path]:
    """A state folder that does not exist yet."""
    with open_folder() as folder:
        yield folder / "state"


@pytest.fixture
def state(empty_state: Path, stopped_state: Path) -> Path:
    """A state folder with a demo world, because a copy is quicker than a first start."""
    subprocess.run(["cp", "-a", str(stopped_state), str(empty_state)], check=True)
    return empty_state


@contextlib.contextmanager
def starting_in(state: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*options: str, **env: str) -> Up:
        started.append(Up(state, *options, **env))
        return started[-1]

    try:
        yield start
    finally:
        for one in started:
            one.clean_up()


@pytest.fixture
def up(state: Path) -> Iterator[Callable[..., Up]]:
    """Start `manage.py up` in a folder where it ran before."""
    with starting_in(state) as start:
        yield start


@pytest.fixture
def first_up(empty_state: Path) -> Iterator[Callable[..., Up]]:
    """Start `manage.py up` in an empty folder."""
    with starting_in(empty_state) as start:
        yield start


def leftovers(one: Up) -> list[list[str]]:
    """Return the commands that still run on this state folder."""
    mark = f"NEEDS_YOU_STATE={one.state}".encode()
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = command_of(int(entry.name))
            ours = mark in (entry / "environ").read_bytes().split(b"\0")
            if (ours or str(one.state / "pgdata") in words) and is_running(int(entry.name)):
                found.append(words)
    return found


def open_page(browser: urllib.request.OpenerDirector, url: str, **form: str) -> str:
    data = urllib.parse.urlencode(form).encode() if form else None
    with browser.open(url, data=data) as answer:
        return str(answer.read().decode())


def new_browser() -> urllib.request.OpenerDirector:
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)


def press_the_button(browser: urllib.request.OpenerDirector, link: str) -> str:
    page = open_page(browser, link)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token, page
    return open_page(browser, link, csrfmiddlewaretoken=token.group(1))


def test_a_newcomer_signs_in_by_the_link_once(first_up: Callable[..., Up]) -> None:
    link = first_up("--world", "demo").ready()

    page = press_the_button(new_browser(), link)
    assert "csrfmiddlewaretoken" in page or "Needs" in page

    with pytest.raises(urllib.error.HTTPError, match="410") as gone:
        open_page(new_browser(), link)
    gone.value.close()


def test_sigterm_stops_everything_and_the_next_finds_what_was_stored(
    up: Callable[..., Up],
) -> None:
    first = up()
    first.ready()
    assert set(first.children()) == {"web", "worker"}

    first.process.terminate()
    assert first.ended() == 0
    assert leftovers(first) == []

    again = up()
    again.ready()
    assert "This world already exists completely" in again.said()


def test_ctrl_c_stops_everything(up: Callable[..., Up]) -> None:
    one = up("--workers", "2")
    one.ready()
    assert sum("worker" in command_of(pid) for pid in children_of(one.process.pid)) == 2
    one.process.send_signal(signal.SIGINT)
    assert one.ended() == 0
    assert leftovers(one) == []


def test_ctrl_c_while_it_starts_leaves_nothing(first_up: Callable[..., Up]) -> None:
    one = first_up()
    one.wait_for("(Starting the private PostgreSQL)")

    one.process.send_signal(signal.SIGINT)

    assert one.ended() == 0
    wait_until(lambda: leftovers(one) == [], lambda: str(leftovers(one)))


@pytest.mark.parametrize("name", ["web", "worker"])
def test_child_that_is_killed_is_started_again(up: Callable[..., Up], name: str) -> None:
    one = up()
    one.ready()
    before = one.children()

    os.kill(before[name], signal.SIGKILL)

    wait_until(lambda: one.children().get(name) not in {None, before[name]}, one.said)
    assert one.wait_for(rf"(The {name} process ended \(killed by SIGKILL\))")
    wait_until(lambda: address_answers(f"http://127.0.0.1:{one.port}", "/healthz"))


def test_connection_made_while_web_is_down_is_answered(up: Callable[..., Up]) -> None:
    one = up("--no-worker")
    one.ready()
    web = one.children()["web"]
    os.kill(web, signal.SIGKILL)
    wait_until(lambda: not is_running(web))

    # The socket belongs to `up`, so the connection waits for the next web process.
    with socket.create_connection(("127.0.0.1", one.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"


def test_postgresql_that_is_killed_is_started_again(up: Callable[..., Up]) -> None:
    one = up("--no-worker")
    one.ready()
    server = LocalPostgres(one.state).server
    before = server.pid()
    assert before is not None

    os.kill(before, signal.SIGKILL)

    wait_until(lambda: server.pid() not in {None, before}, one.said)
    wait_until(LocalPostgres(one.state).alive)


def test_kill_9_of_up_takes_the_children_along_and_the_next_adopts_the_database(
    up: Callable[..., Up],
) -> None:
    one = up()
    one.ready()
    children = one.children()

    one.process.kill()

    wait_until(lambda: not any(map(is_running, children.values())), lambda: str(children))
    postgres = LocalPostgres(one.state).server.pid()
    assert postgres is not None, "the database survives, for the next one to adopt"

    again = up()
    again.ready()
    assert LocalPostgres(one.state).server.pid() == postgres
    again.process.terminate()
    assert again.ended() == 0
    assert leftovers(again) == []


def test_port_of_another_program_is_said_before_anything_is_started(
    first_up: Callable[..., Up], empty_state: Path
) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]

        one = first_up("--port", str(port))

        assert one.ended() == 1
    assert one.said() == (
        f"Port {port} on 127.0.0.1 is in use by another program: "
        "choose another with --port or PORT.\n"
    )
    assert not (empty_state / "pgdata").exists()


def test_twice_on_one_port_says_that_it_runs_already(up: Callable[..., Up], state: Path) -> None:
    first = up("--no-worker")
    first.ready()

    second = up("--no-worker", "--port", str(first.port))

    assert second.ended() == 3
    assert second.said() == (
        f"Needs You is already running from {state} on port {first.port} (process {first.process.pid}): "
        "use that instance, stop it, or choose another port with --port.\n"
    )
    assert address_answers(f"http://127.0.0.1:{first.port}", "/healthz")


def test_two_first_starts_at_once_share_the_database(first_up: Callable[..., Up]) -> None:
    first, second = first_up("--no-worker"), first_up("--no-worker")
    first.ready()
    second.ready()

    first.process.terminate()
    assert first.ended() == 0
    assert address_answers(f"http://127.0.0.1:{second.port}", "/healthz")
    assert LocalPostgres(second.state).alive()

    second.process.terminate()
    assert second.ended() == 0
    assert leftovers(second) == []


def test_database_that_does_not_answer_is_one_sentence(first_up: Callable[..., Up]) -> None:
    one = first_up(DATABASE_URL=f"postgresql://somebody:secret@127.0.0.1:{free_port()}/nowhere")

    assert one.ended() == 1
    assert re.fullmatch(
        r"The database of DATABASE_URL cannot be reached: .*refused.*\.\n", one.said()
    )
    assert "secret" not in one.said()


@pytest.mark.parametrize("url", ["nonsense", "postgresql://[", "mysql://localhost/x"])
def test_database_url_that_is_none_is_one_sentence(first_up: Callable[..., Up], url: str) -> None:
    one = first_up(DATABASE_URL=url)

    assert one.ended() == 1
    assert re.fullmatch(r"DATABASE_URL .*\.\n", one.said()), one.said()


def test_state_folder_that_cannot_be_written_is_one_sentence(
    first_up: Callable[..., Up],
) -> None:
    one = first_up("--state", "/proc/needs-you")

    assert one.ended() == 1
    assert re.fullmatch(
        r"The state folder /proc/needs-you is not writable \(.*\): .*\.\n", one.said()
    )


def test_empty_world_has_its_first_owner(first_up: Callable[..., Up]) -> None:
    assert "/enter/" in first_up("--world", "none", "--no-worker").ready()
