"""Finding a Chromium to drive: a named one, Playwright's own, the system's, Chrome or Edge.

`python -m tests.browser` makes sure there is one, and installs one where it knows how.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserType, Error, Playwright, sync_playwright

from tests.temporary import one_temporary_folder

SYSTEM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
)
ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--disable-gpu",
    "--font-render-hinting=none",
]
# How Playwright says that a browser is not there. Asking for its path does not tell: with
# `playwright install --only-shell` the path of the full browser is absent and a launch works.
ABSENT = ("Executable doesn't exist", "is not found at", "Failed to launch")
DEBIAN_PACKAGE = "chromium-headless-shell"
# What the Node.js that comes with Playwright is linked to, and slim systems are without.
NODE_NEEDS = "libatomic1"
HINT = (
    "no browser was found: run `playwright install chromium` or `apt-get install "
    f"{DEBIAN_PACKAGE}`, or set E2E_BROWSER to the path of one"
)
NO_DRIVER = f"Playwright does not start on this machine: `apt-get install {NODE_NEEDS}` may help"


class NoBrowserError(Exception):
    """Nothing drives a browser on this machine; the text says how to get there and what was tried."""


def candidates() -> Iterator[dict[str, Any]]:
    """Launch arguments to try, best first. A browser named by E2E_BROWSER is the only one."""
    if named := os.environ.get("E2E_BROWSER"):
        yield {"executable_path": named}
        return
    yield {}
    for name in SYSTEM_NAMES:
        if path := shutil.which(name):
            yield {"executable_path": path}
    yield {"channel": "chrome"}
    yield {"channel": "msedge"}


def launch(browser_type: BrowserType, **options: Any) -> Browser:
    """Launch the first browser that is there."""
    tried = []
    for candidate in candidates():
        try:
            return browser_type.launch(**{"args": ARGUMENTS, **options, **candidate})
        except Error as error:
            if not any(sign in error.message for sign in ABSENT):
                raise
            tried.append(f"{candidate or 'playwright'}: {error.message.splitlines()[0]}")
    raise NoBrowserError(HINT + "\n  " + "\n  ".join(tried))


@contextmanager
def driver() -> Iterator[Playwright]:
    """Playwright. Raises NoBrowserError where its Node.js does not start, in place of a riddle."""
    if not _driver_starts():
        raise NoBrowserError(NO_DRIVER)
    with sync_playwright() as playwright:
        yield playwright


def is_required() -> bool:
    """Whether a missing browser fails the tests rather than skipping them."""
    return bool(os.environ.get("CI") or os.environ.get("E2E_REQUIRED"))


def main() -> int:
    """Find a browser or install one. Failing is for the tests to say, which skip or fail by CI."""
    missing = _missing()
    for command in _installers():
        if missing is None:
            return 0
        print("· Installing a browser:", *command, flush=True)
        subprocess.call(command)
        missing = _missing()
    if missing is None:
        return 0
    print(missing[0].upper() + missing[1:], file=sys.stderr)
    return 1 if is_required() else 0


def _missing() -> str | None:
    """Why no browser can be driven; None when one can. One that was named is not tried."""
    try:
        # A browser leaves its profile in the temporary folder.
        with one_temporary_folder(), driver() as playwright:
            if not os.environ.get("E2E_BROWSER"):
                launch(playwright.chromium).close()
    except NoBrowserError as error:
        return str(error)
    return None


def _driver_starts() -> bool:
    """Whether Playwright's own Node.js runs here. What it complains about goes to our stderr."""
    command = [sys.executable, "-m", "playwright", "--version"]
    return subprocess.call(command, stdout=subprocess.DEVNULL) == 0


def _installers() -> Iterator[list[str]]:
    may_install = os.geteuid() == 0 and shutil.which("apt-get")
    if may_install:
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        yield ["apt-get", "update", "-qq"]
        yield [*install, NODE_NEEDS]
        yield [*install, DEBIAN_PACKAGE]
    needs = ["--with-deps"] if may_install else []
    yield [sys.executable, "-m", "playwright", "install", *needs, "--only-shell", "chromium"]


if __name__ == "__main__":
    sys.exit(main())
