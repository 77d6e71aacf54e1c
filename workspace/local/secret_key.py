"""The secret that signs sessions and links, stored in the state folder if none is configured."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from workspace.local.state import StateError, make_state_folder


def load_secret_key(state: Path) -> str:
    """Return the secret key of the state folder; make it on first use, readable by its owner only.

    If the folder cannot be used, return a key for this process alone: commands that sign nothing
    still run, and ``up`` reports the folder before anything is signed.
    """
    path = state / "secret_key"
    try:
        if not path.exists():
            make_state_folder(state)
            _write_once(path, secrets.token_urlsafe(50))
        return path.read_text()
    except (OSError, StateError):
        return secrets.token_urlsafe(50)


def _write_once(path: Path, key: str) -> None:
    """Write the key whole or not at all; of several processes at once the first one wins."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(key)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(fresh)
    fresh.unlink()
