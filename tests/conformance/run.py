"""`make conformance`: the real clients of each protocol against a server that runs for them alone.

A driver is a file tests/conformance/<protocol>/run.sh. It finds in its environment:

    BASE_URL    where the server is, without a slash at the end
    API_KEY     a key of the agent conf-<protocol>, tied to the person `owner`
    STATE       the server's state folder; the leaf volume is $STATE/volume

and it fails by its exit code. It may be given its own environment by tests/conformance/<protocol>.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.temporary import one_temporary_folder
from workspace.local.state import PROJECT

HERE = Path(__file__).resolve().parent
MANAGE = [sys.executable, str(PROJECT / "manage.py")]
SCOPES = "run:create,run:read,ask:create,ask:answer"
READY = re.compile(r"^Ready: (http://[^/\s]+)", re.MULTILINE)
START_SECONDS = 120.0
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Server:
    """A running `manage.py up --world conformance`."""

    base_url: str
    state: Path
    env: dict[str, str]

    def key_for(self, protocol: str) -> str:
        """A new key of the agent that speaks ``protocol``."""
        name = f"conformance {protocol}"
        agent = f"conf-{protocol}"
        options = ["--scope", SCOPES, "--agent", agent, "--owner", "owner"]
        said = subprocess.run(
            [*MANAGE, "key", "create", name, *options],
            env=self.env,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        return said.strip().splitlines()[-1]


def main() -> int:
    """Run every driver; the number of those that failed decides the exit code."""
    drivers = sorted(HERE.glob("*/run.sh"))
    if not drivers:
        print("conformance: 0 drivers yet, so nothing was run and nothing is shown to conform.")
        return 0
    with one_temporary_folder(), server() as live:
        outcome = {driver.parent.name: run_driver(driver, live) for driver in drivers}
    for protocol, code in outcome.items():
        print(
            f"conformance: {protocol:12} {'passed' if code == 0 else f'FAILED (exit code {code})'}"
        )
    failed = sum(1 for code in outcome.values() if code != 0)
    print(f"conformance: {len(outcome) - failed} drivers passed, {failed} failed")
    return 1 if failed else 0


def run_driver(driver: Path, live: Server) -> int:
    """Run one driver in its folder; its exit code."""
    protocol = driver.parent.name
    print(f"conformance: running {protocol}", flush=True)
    env = {
        **live.env,
        "BASE_URL": live.base_url,
        "API_KEY": live.key_for(protocol),
        "STATE": str(live.state),
    }
    return subprocess.call(["bash", str(driver)], cwd=driver.parent, env=env)


@contextmanager
def server() -> Iterator[Server]:
    """A server on a free port with a state folder of its own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="ny-conformance-"))
    folder.chmod(0o711)
    state = folder / "state"
    env = {**os.environ, "NEEDS_YOU_STATE": str(state), "PYTHONUNBUFFERED": "1"}
    env["NEEDS_YOU_UNDO_SECONDS"] = "0"  # clients answer on pages and wait for the agent
    env.pop("DATABASE_URL", None)
    log = folder / "up.log"
    with log.open("wb") as output:
        up = subprocess.Popen(
            [*MANAGE, "up", "--world", "conformance", "--port", "0"],
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(_address(up, log), state, env)
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(STOP_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _address(up: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and up.poll() is None:
        ready = READY.search(log.read_text(errors="replace"))
        if ready:
            return ready.group(1)
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')}")


if __name__ == "__main__":
    sys.exit(main())
