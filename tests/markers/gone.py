"""Waiting for a process to be gone; one that only waits to be reaped is."""

from __future__ import annotations

import os
import time
from pathlib import Path


def until_gone(pid: int) -> bool:
    for _ in range(500):
        try:
            os.kill(pid, 0)
            if Path("/proc").exists() and _is_zombie(pid):
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
