"""The folder that a chain of turns works in, held by a descriptor from before a turn to after it.

A brain may move or remove its own folder. What counts is the folder that was opened before the
turn: all that the host reads and removes goes through its descriptor, and a folder that is not at
its path any more is an error, never an empty one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: Seconds from one look at what may be swept to the next: a turn does not wait for it each time.
SWEEP_EVERY = 60.0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Only its owner enters it: what a brain saves may be confidential.
MODE = 0o700


class DirectoryLost(Exception):
    """The run directory is not what it was when the turn began."""


class DirectoryInUse(Exception):
    """Another turn of the same chain holds it."""


@dataclass(frozen=True)
class PinnedDirectory:
    """An open run directory. ``is_new`` when it held nothing to begin with."""

    path: Path
    fd: int
    is_new: bool

    def check(self) -> None:
        """Raise DirectoryLost unless the directory is still there, at its place."""
        held = os.fstat(self.fd)
        try:
            there = os.stat(self.path, follow_symlinks=False)  # noqa: PTH116 -- beside fstat
        except OSError as error:
            raise DirectoryLost("The run directory was removed during the turn.") from error
        if held.st_nlink == 0 or (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino):
            raise DirectoryLost("The run directory was replaced during the turn.")

    def remove(self, name: str) -> None:
        """Remove an entry, whatever it is. Raises OSError when it cannot be."""
        with suppress(FileNotFoundError):
            found = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(name, dir_fd=self.fd)
            else:
                os.unlink(name, dir_fd=self.fd)

    def empty(self) -> None:
        for name in os.listdir(self.fd):  # noqa: PTH208 -- the descriptor, never the path
            self.remove(name)


@contextmanager
def pin_directory(path: Path) -> Iterator[PinnedDirectory]:
    """The run directory of a chain, made if it is missing, held for one turn.

    Raises OSError when it cannot be made or opened, DirectoryInUse when another turn holds it.
    """
    path.mkdir(mode=MODE, parents=True, exist_ok=True)
    fd = os.open(path, _OPEN)
    try:
        _lock(fd)
        os.utime(fd)
        yield PinnedDirectory(path, fd, is_new=not os.listdir(fd))  # noqa: PTH208 -- as above
    finally:
        os.close(fd)


def _lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise DirectoryInUse("Another turn works in this run directory.") from error
        raise


_swept: dict[Path, float] = {}


def sweep_run_directories_if_due(folder: Path, *, older_than: float) -> None:
    """Sweep, unless this process has looked there a moment ago."""
    now = time.monotonic()
    last = _swept.get(folder)
    if last is None or now - last >= min(SWEEP_EVERY, older_than):
        _swept[folder] = now
        sweep_run_directories(folder, older_than=older_than)


def sweep_run_directories(folder: Path, *, older_than: float) -> list[Path]:
    """Remove the run directories in a folder that no turn has used for so many seconds.

    One that is in use is left alone. Returns what was removed.
    """
    removed = []
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            with suppress(OSError, DirectoryInUse):
                if _remove_if_idle(path, older_than):
                    removed.append(path)
    return removed


def _remove_if_idle(path: Path, older_than: float) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    fd = os.open(path, _OPEN)
    try:
        if time.time() - os.fstat(fd).st_mtime < older_than:
            return False
        _lock(fd)
        shutil.rmtree(path)
        return True
    finally:
        os.close(fd)
