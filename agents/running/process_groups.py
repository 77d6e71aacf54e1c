"""Which process is which, and the end of a whole group of them.

A pid alone is no evidence: it may have been given to another process since. An identity therefore
carries when its process started (Linux: ticks since a named boot, in a named pid namespace;
elsewhere: what ``ps`` says), and on Linux a mark in the environment, by which children that left
the group are found as well.
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
    """A value for MARK_VARIABLE that no other process has."""
    return secrets.token_hex(12)


def identity_of(pid: int, mark: str = "") -> dict[str, Any]:
    """{"host", "pid", "pgid", "started", "mark"} of a process that leads its group. JSON-ready."""
    return {
        "host": socket.gethostname(),
        "pid": pid,
        "pgid": pid,
        "started": started(pid),
        "mark": mark,
    }


def started(pid: int) -> str:
    """When that process started, in words that differ for every process that ever had the pid; ""
    if it is gone.
    """
    if not _HAS_PROC:
        return _started_says_ps(pid)
    fields = _stat(pid)
    return f"{_boot()}/{_namespace()}/{fields[19]}" if fields else ""


def kill_if_same(identity: dict[str, Any], grace_seconds: float = GRACE_SECONDS) -> bool:
    """End what is left of a group that another worker on this host started: TERM, then KILL after
    the grace.

    Only by evidence: the leader must be the very process of the identity (same start), or a process
    must carry the identity's mark. Returns True if something was there to end. Blocks up to the
    grace; call it in a thread.
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
    """TERM to all of them, KILL to those that still live after the grace. Blocks until then."""
    signal_group(signal.SIGTERM, group, mark)
    deadline = time.monotonic() + grace_seconds
    while is_group_alive(group, mark) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    signal_group(signal.SIGKILL, group, mark)


def is_group_alive(group: int, mark: str) -> bool:
    """True while the group (0: none) has a member that is no zombie, or someone has the mark."""
    return _group_alive(group) or next(_marked(mark), None) is not None


def signal_group(signum: int, group: int, mark: str) -> None:
    """Signal every member of the group (0: none) and everyone who carries the mark. Those gone are
    no error.
    """
    if group > 1:
        _quietly(os.killpg, group, signum)
    for pid in _marked(mark):
        _quietly(os.kill, pid, signum)


def _quietly(kill: Callable[[int, int], None], target: int, signum: int) -> None:
    # Gone, or (macOS) a group of zombies: nothing there that could still act.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        kill(target, signum)


def _group_alive(group: int) -> bool:
    if group <= 1:
        return False
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # A zombie counts as a member for killpg; one that no init reaps would keep us waiting for
    # nothing.
    return not _HAS_PROC or any(
        fields[2] == str(group) and fields[0] not in "ZX" for fields in _all_stats()
    )


def _marked(mark: str) -> Iterator[int]:
    """Pids of living processes, never our own, whose environment carries the mark. None without
    /proc.
    """
    if not (mark and _HAS_PROC):
        return
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    for pid in _pids():
        if (
            pid != os.getpid()
            and wanted in _environment(pid)
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
    """The fields of /proc/PID/stat from the state on (proc(5) counts them from 3); [] if gone.

    The name before them is in brackets and may itself hold spaces and brackets.
    """
    text = _read(f"{_PROC}/{pid}/stat").decode(errors="replace")
    return text.rpartition(")")[2].split()


def _read(path: str) -> bytes:
    """A file of /proc, empty once its process is gone.

    Read without what Python puts around files: the end of every command looks at every process.
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


def _started_says_ps(pid: int) -> str:
    told = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath},
        check=False,
    )
    return told.stdout.strip()
