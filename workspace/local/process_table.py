"""Ask the operating system about a process, on Linux and on macOS."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessFacts:
    """A living or unreaped process and its command line (empty for a zombie)."""

    pid: int
    command: tuple[str, ...]
    zombie: bool


def look_up(pid: int) -> ProcessFacts | None:
    """Return what is known about ``pid``, or None when no such process exists."""
    if (PROC / "self").exists():
        return _from_proc(pid)
    return _from_ps(pid)


def is_running(pid: int) -> bool:
    """Return whether ``pid`` runs; a zombie does not."""
    facts = look_up(pid)
    return facts is not None and not facts.zombie


def _from_proc(pid: int) -> ProcessFacts | None:
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
        command = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    # The name in brackets may hold spaces and brackets; the state follows the last one.
    state = stat[stat.rindex(")") + 2]
    words = command.decode(errors="surrogateescape").rstrip("\0").split("\0")
    return ProcessFacts(pid, tuple(filter(None, words)), zombie=state in "ZX")


def _from_ps(pid: int) -> ProcessFacts | None:
    found = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-p", str(pid)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    state, _, command = found.stdout.strip().partition(" ")
    if not state:
        return None
    zombie = state.startswith("Z")
    return ProcessFacts(pid, () if zombie else tuple(command.split()), zombie=zombie)
