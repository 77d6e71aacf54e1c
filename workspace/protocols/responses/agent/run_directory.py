"""The working folder of a chain of turns, held open by a descriptor for the whole turn.

A brain may move or remove its folder. The host therefore reads and removes files only through the
descriptor that it opened before the turn. A folder that is no longer at its path is an error; it is
never treated as empty.
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

#: Minimum seconds between two sweeps, so that not every turn waits for one.
SWEEP_EVERY = 60.0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Only its owner may enter it: the files of a brain may be confidential.
MODE = 0o700


class DirectoryLost(Exception):
    """The run directory was removed or replaced during the turn."""


class DirectoryInUse(Exception):
    """Another turn of the same chain holds the directory."""


@dataclass(frozen=True)
class PinnedDirectory:
    """An open run directory. ``is_new``: it was empty when it was opened."""

    path: Path
    fd: int
    is_new: bool

    def check(self) -> None:
        """Raise DirectoryLost unless the directory is still at its path."""
        held = os.fstat(self.fd)
        try:
            there = os.stat(self.path, follow_symlinks=False)  # noqa: PTH116 -- symmetrical to fstat
        except OSError as error:
            raise DirectoryLost("The run directory was removed during the turn.") from error
        if held.st_nlink == 0 or (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino):
            raise DirectoryLost("The run directory was replaced during the turn.")

    def remove(self, name: str) -> None:
        """Remove an entry of any kind, if it exists. Raises OSError."""
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(name, dir_fd=self.fd)
            else:
                os.unlink(name, dir_fd=self.fd)

    def empty(self) -> None:
        for name in os.listdir(self.fd):  # noqa: PTH208 -- the descriptor, never the path
            self.remove(name)


@contextmanager
def pin_directory(path: Path) -> Iterator[PinnedDirectory]:
    """Create the run directory of a chain if it is missing, and hold it locked for one turn.

    Raises OSError if it cannot be created or opened, DirectoryInUse if another turn holds it.
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
    """Sweep the folder, unless this process has done so within the last SWEEP_EVERY seconds."""
    now = time.monotonic()
    last = _swept.get(folder)
    if last is None or now - last >= min(SWEEP_EVERY, older_than):
        _swept[folder] = now
        sweep_run_directories(folder, older_than=older_than)


def sweep_run_directories(folder: Path, *, older_than: float) -> list[Path]:
    """Remove the run directories that no turn has used for ``older_than`` seconds.

    A directory in use is skipped. Return the removed paths.
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
