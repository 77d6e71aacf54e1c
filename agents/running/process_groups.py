"""Identify processes, and end whole process groups.

A pid alone does not identify a process: the system may have reused it. An identity therefore records
when the process started (on Linux: clock ticks since boot, with the boot id and the pid namespace;
elsewhere: the output of ``ps``). On Linux it also records a mark in the environment, which finds
children that have left the group.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK_VARIABLE = "NEEDS_YOU_MARK"
GRACE_SECONDS = 2.0
POLL_SECONDS = 0.02

_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self/stat").exists()
_CHUNK = 128 * 1024


def new_mark() -> str:
    """Return a value for MARK_VARIABLE that no other process has."""
    return secrets.token_hex(12)


def identity_of(pid: int, mark: str = "") -> dict[str, Any]:
    """Return the identity of a group leader as JSON: {"host", "pid", "pgid", "started", "mark"}."""
    return {
        "host": socket.gethostname(),
        "pid": pid,
        "pgid": pid,
        "started": started(pid),
        "mark": mark,
    }


def started(pid: int) -> str:
    """Return when a process started; an empty string if it is gone.

    The text differs for any two processes that have had the same pid.
    """
    if not _HAS_PROC:
        return _started_by_ps(pid)
    fields = _stat(pid)
    return f"{_boot()}/{_namespace()}/{fields[19]}" if fields else ""


def kill_if_same(identity: dict[str, Any], grace_seconds: float = GRACE_SECONDS) -> bool:
    """End what is left of a group that another worker on this host started.

    Send TERM, and KILL after the grace period. Nothing is signalled unless the leader is the process
    of the identity (same start), or a process carries the identity's mark. Return whether there was
    anything to end. Blocks for up to the grace period; call it in a thread.
    """
    if identity.get("host") != socket.gethostname() or not identity.get("pid"):
        return False
    pid, mark = int(identity["pid"]), str(identity.get("mark") or "")
    same = bool(identity.get("started")) and started(pid) == identity["started"]
    group = int(identity.get("pgid") or pid) if same else 0
    if not is_group_alive(group, mark):
        return False
    end_group(group, mark, grace_seconds)
    return True


def end_group(group: int, mark: str, grace_seconds: float) -> None:
    """Send TERM to all processes, then KILL to those left after the grace period. Blocks until then."""
    signal_group(signal.SIGTERM, group, mark)
    deadline = time.monotonic() + grace_seconds
    while is_group_alive(group, mark) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    signal_group(signal.SIGKILL, group, mark)


def is_group_alive(group: int, mark: str) -> bool:
    """Whether the group (0: none) has a member that is not a zombie, or a process carries the mark."""
    return _group_alive(group) or next(_marked(mark), None) is not None


def signal_group(signum: int, group: int, mark: str) -> None:
    """Signal every member of the group (0: none) and every process that carries the mark.

    Ignore processes that have gone.
    """
    if group > 1:
        _quietly(os.killpg, group, signum)
    for pid in _marked(mark):
        _quietly(os.kill, pid, signum)


def _quietly(kill: Callable[[int, int], None], target: int, signum: int) -> None:
    # The process has gone or, on macOS, the group has only zombies left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(target, signum)


def _group_alive(group: int) -> bool:
    if group <= 1:
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # killpg also finds zombies. We would wait forever for a zombie that no init reaps.
    return not _HAS_PROC or any(
        fields[2] == str(group) and fields[0] not in "ZX" for fields in _all_stats()
    )


def _marked(mark: str) -> Iterator[int]:
    """Yield the pids of living processes, except ours, that carry the mark; none without /proc."""
    if not (mark and _HAS_PROC):
        return
    variable = f"{MARK_VARIABLE}={mark}".encode()
    for pid in _pids():
        if (
            pid != os.getpid()
            and variable in _environment(pid)
            and _stat(pid)[:1] not in ([], ["Z"], ["X"])
        ):
            yield pid


def _environment(pid: int) -> list[bytes]:
    return _read(f"{_PROC}/{pid}/environ").split(b"\0")


def _all_stats() -> Iterator[list[str]]:
    return (fields for pid in _pids() if (fields := _stat(pid)))


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat, starting at the state (field 3 in proc(5)); [] if gone.

    The name before the state is in brackets and may itself contain spaces and brackets.
    """
    text = _read(f"{_PROC}/{pid}/stat").decode(errors="replace")
    return text.rpartition(")")[2].split()


def _read(path: str) -> bytes:
    """Return the content of a file in /proc; empty if its process is gone.

    Use plain system calls for speed: the end of every command reads the files of every process.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return b"".join(iter(lambda: os.read(fd, _CHUNK), b""))
    except OSError:
        return b""
    finally:
        os.close(fd)


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""


def _started_by_ps(pid: int) -> str:
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath},
        check=False,
    )
    return done.stdout.strip()
