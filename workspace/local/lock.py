"""Who runs Needs You from this state folder on this port: a file lock that dies with its holder."""

import fcntl
import os
from pathlib import Path
from typing import IO


class InstanceLock:
    """The right to run `up` on one port of one state folder; the file names the holder."""

    def __init__(self, state: Path, port: int) -> None:
        self.path = state / f"up-{port}.lock"
        self.left_by_killed = False  # somebody held the claim and ended without releasing it
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """Take the claim, and tell whether it was free."""
        file = self.path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        self.left_by_killed = bool(self.holder())
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return True

    def holder(self) -> str:
        """The process id that the file names: the holder's, or that of one that was killed."""
        return self.path.read_text().strip() if self.path.exists() else ""

    def release(self) -> None:
        """Give the claim back after a clean stop."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None
