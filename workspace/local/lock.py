"""Lock the right to run Needs You from a state folder on a port."""

import os
from pathlib import Path

from filelock import FileLock, Timeout


class InstanceLock:
    """The right to run `up` on one port of one state folder.

    The operating system releases the lock when its holder ends, however it ends. The file also
    contains the holder's process id, for the message to the person who starts a second one.
    """

    def __init__(self, state: Path, port: int) -> None:
        self.path = state / f"up-{port}.lock"
        self.left_by_killed = False  # the last holder ended without releasing the lock
        self._lock = FileLock(self.path, fallback_to_soft=False)

    def take(self) -> bool:
        """Take the lock if it is free; return whether it was."""
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        self.left_by_killed = bool(self.holder())
        self.path.write_text(str(os.getpid()))
        return True

    def holder(self) -> str:
        """Return the process id in the file: the holder's, or that of one that was killed."""
        return _read(self.path).partition("\n")[0]

    def name_address(self, address: str) -> None:
        """Add the address on which the instance listens, for what commands print."""
        self.path.write_text(f"{os.getpid()}\n{address}")

    def release(self) -> None:
        """Release the lock after a clean stop."""
        if self._lock.is_locked:
            self.path.write_text("")
            self._lock.release()


def running_ports(state: Path) -> list[int]:
    """Return the ports on which Needs You runs from a state folder, in order."""
    return sorted(
        int(file.stem.removeprefix("up-"))
        for file in state.glob("up-*.lock")
        if file.read_text() and _is_locked(file)
    )


def running_addresses(state: Path) -> list[str]:
    """Return the addresses on which Needs You runs from a state folder, by their ports."""
    files = [(port, state / f"up-{port}.lock") for port in running_ports(state)]
    named = [(port, _read(file).partition("\n")[2]) for port, file in files]
    return [address or f"http://127.0.0.1:{port}" for port, address in named]


def _read(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def _is_locked(file: Path) -> bool:
    lock = FileLock(file, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False
