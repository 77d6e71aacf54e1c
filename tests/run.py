"""`make test`: every test, those in a real browser beside the others.

They are a pytest process of their own: Playwright leaves an event loop running in the main thread,
which asyncio tests cannot share. Much of their time is waiting for pages, so the others lose little.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import django

PYTEST = [sys.executable, "-m", "pytest"]
NO_TESTS = 5  # pytest's exit code when none was selected: the arguments were for the others


def main() -> int:
    """Run them with pytest's own arguments; its exit code. What browsers showed is said last."""
    parser = argparse.ArgumentParser(prog="python -m tests.run")
    parser.add_argument("--no-browser", action="store_true", help="leave those in a browser out")
    options, arguments = parser.parse_known_args()
    # Ctrl-C reaches pytest too, which takes everything along that it started; we wait for that.
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        if options.no_browser:
            return without_browser(arguments)
        with in_browser(arguments) as browser:
            codes = [without_browser(arguments), browser.wait()]
        return together(*codes)
    finally:
        remove_server()


def remove_server() -> None:
    """Remove the tests' database server. A single pytest keeps it, so that the next starts sooner."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    django.setup()
    from tests.database import TestServer

    TestServer().remove()


def together(*codes: int) -> int:
    """The exit code of several pytest processes: what failed or was killed, else what ran."""
    if failed := [code for code in codes if code not in (0, NO_TESTS)]:
        return failed[0] if failed[0] > 0 else 1
    return min(codes)


def without_browser(arguments: list[str]) -> int:
    """Run these on all cores, and one process more: many wait for what they started."""
    processes = min(os.cpu_count() or 2, 5) + 1
    marks = "not e2e and not chaos"
    return subprocess.call([*PYTEST, "-n", str(processes), "-m", marks, *arguments])


@contextmanager
def in_browser(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Have those in a browser run meanwhile; what they said is printed in the end."""
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(
            [*PYTEST, "-m", "e2e", *arguments], stdout=said, stderr=subprocess.STDOUT
        )
        try:
            yield running
        finally:
            running.wait()
            said.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(said, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
