"""Our console and a real Agent Framework workflow: its question comes into the queue, a click resumes it.

python -m tests.conformance.responses.workflow HOST_PYTHON, with BASE_URL and NEEDS_YOU_STATE of a
running server in the environment. HOST_PYTHON has agent-framework-foundry-hosting.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import httpx

from tests.conformance.console import card_of, click, eventually, signed_in, started, summary_of

HOST = Path(__file__).with_name("workflow_host.py")


def main(host_python: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    django.setup()
    from tests.live_server import free_port

    port = free_port()
    with _hosted(host_python, port):
        settings = {"base_url": f"http://127.0.0.1:{port}", "input": "Close October."}
        session = started("agent-framework", "responses-remote", settings)
        browser = signed_in()
        ask = eventually(
            lambda: card_of(browser, session, "Which ledger"), "the question is in the queue"
        )
        click(browser, ask, "EU")
        said = eventually(lambda: summary_of(session), "the workflow has gone on")
    assert said == "Reconciled EU as asked.", said
    print("ok   agent_framework_workflow_asks_and_a_click_resumes_it")


@contextmanager
def _hosted(python: str, port: int) -> Iterator[None]:
    env = {**os.environ, "FOUNDRY_AGENT_SESSION_ID": "conformance"}
    process = subprocess.Popen(
        [python, str(HOST), str(port)],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: _answers(port) or process.poll() is not None, "the host answers")
        assert process.poll() is None, "the workflow's host did not start"
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/readiness", trust_env=False)
    except httpx.TransportError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
