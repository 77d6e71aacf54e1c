"""The secret that signs sessions and links, kept in the state folder when none is configured."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def kept_in(state: Path) -> str:
    """The state folder's own secret key, made on first use, readable by its owner only.

    A folder that cannot be written gives a key for this process alone, so that commands which need
    none still run; ``up`` says the folder is unwritable before anything is signed.
    """
    path = state / "secret_key"
    try:
        state.mkdir(parents=True, exist_ok=True)
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fresh, "w") as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    except OSError:
        return secrets.token_urlsafe(50)
    return _read(path)


def _read(path: Path) -> str:
    """Another process may have created the file a moment ago and not yet written it."""
    for _ in range(50):
        key = path.read_text()
        if key:
            return key
    return secrets.token_urlsafe(50)
