"""Our console and a real eve server: its approval comes into the queue, and a click resumes it.

python -m tests.conformance.eve.driving NODE ERA, with BASE_URL and NEEDS_YOU_STATE of a running
server in the environment. The packages of that era are in build/eve-ERA.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import httpx

from tests.conformance.console import card_of, click, eventually, signed_in, started, summary_of
from tests.conformance.pressing import press

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build"
APPROVE = {"0.80": "Approve", "0.13": "Yes"}


def main(node: str, era: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    django.setup()
    from tests.live_server import free_port

    port = free_port()
    with _hosted(Path(node).resolve(), BUILD / f"eve-{era}", era, port):
        settings = {"base_url": f"http://127.0.0.1:{port}", "input": "Refund it."}
        session = started(f"eve-{era.replace('.', '-')}", "eve-remote", settings)
        browser = signed_in()
        ask = eventually(lambda: card_of(browser, session, "ch_1"), "the approval is in the queue")
        if not press(ask, APPROVE[era]):
            click(browser, ask, APPROVE[era])
        said = eventually(lambda: summary_of(session), "the agent has gone on")
    assert "It came to" in said, said
    assert "refunded" in said, said
    print(f"ok   eve_{era}_server_asks_and_a_click_resumes_it")


@contextmanager
def _hosted(node: Path, project: Path, era: str, port: int) -> Iterator[None]:
    """An eve server of that era with a model that needs no network."""
    for old in (project / "agent", project / ".eve"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(HERE / "agents" / era, project / "agent")
    serve = ["node_modules/eve/bin/eve.js", "dev", "--no-ui", "--host", "127.0.0.1"]
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    with (project / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(node), *serve, "--port", str(port)],
            cwd=project,
            env={**os.environ, "PATH": path, "EVE_TELEMETRY_DISABLED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        eventually(lambda: _answers(port) or process.poll() is not None, "the eve server answers")
        if process.poll() is not None:
            said = (project / "server.log").read_text(errors="replace")[-2000:]
            print(f"skip eve_{era}_server: it does not start here: {said}", file=sys.stderr)
            raise SystemExit(1 if os.environ.get("CI") else 0)
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    """Whether it serves the agent: health is 500 until that is compiled."""
    try:
        found = httpx.get(f"http://127.0.0.1:{port}/eve/v1/health", trust_env=False)
    except httpx.TransportError:
        return False
    return found.status_code == 200


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
