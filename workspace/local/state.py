"""The state folder: where Needs You keeps its data on this machine."""

import os
import sys
from collections.abc import MutableSequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


class StateError(Exception):
    """The state folder cannot be used. The text is one sentence for the person who started us."""


def state_dir() -> Path:
    """Return the state folder: NEEDS_YOU_STATE, or a default for this user. Creates nothing.

    Root's is under /var/lib, because the account that runs PostgreSQL for root must reach it.
    """
    named = os.environ.get("NEEDS_YOU_STATE")
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/needs-you")
    if os.access(PROJECT, os.W_OK):
        return PROJECT / "var"
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(os.path.expanduser(base)) / "needs-you"  # noqa: PTH111  no error without a home


def make_state_folder(state: Path) -> None:
    """Create the folder if it is missing. Raises StateError if it cannot be written."""
    try:
        if not state.exists():
            state.mkdir(parents=True, exist_ok=True)
            # Root's database account passes through; only root lists the folder.
            state.chmod(0o711 if os.geteuid() == 0 else 0o700)
        probe = state / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StateError(
            f"The state folder {state} is not writable ({(error.strerror or 'error').lower()}): "
            "choose another with --state or NEEDS_YOU_STATE."
        ) from error


def take_state_option(arguments: MutableSequence[str]) -> None:
    """Take `--state DIR` out of any command's line and set NEEDS_YOU_STATE to it.

    The settings read the environment when they are imported, which is before a command parses its
    options. What follows `--` belongs to another command.
    """
    position = 1
    while position < len(arguments) and arguments[position] != "--":
        option, sign, folder = arguments[position].partition("=")
        if option != "--state" or not (sign or position + 1 < len(arguments)):
            position += 1
            continue
        if not sign:
            folder = arguments.pop(position + 1)
        if not folder:
            sys.exit("--state needs the name of a folder.")
        del arguments[position]
        os.environ["NEEDS_YOU_STATE"] = str(Path(folder).absolute())
