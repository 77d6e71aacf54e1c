"""Measure the time from an event's commit until it is in a browser's page.

The yardstick is the round trip of the same fragment through a bare Channels consumer that echoes it:
from the browser's send until it is in a bare page of the same browser.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.figures import Figure

PATIENCE = 30.0
WARM_UP = 5
#: Seconds of rest before each sample, so that the previous one has ended completely.
BETWEEN = 0.25
#: Records when each numbered item enters the list, in ms since 1970.
WATCH = """() => {
  window.arrived = {};
  new MutationObserver((changes) => {
    const now = performance.timeOrigin + performance.now();
    for (const change of changes) for (const node of change.addedNodes)
      if (node.dataset && node.dataset.seq) window.arrived[node.dataset.seq] = now;
  }).observe(document.getElementById("stream"), { childList: true });
}"""
SEND = """(fragment) => {
  const sent = performance.timeOrigin + performance.now();
  window.echoes.send(fragment);
  return sent;
}"""


def measure(runs: int) -> list[Figure]:
    """Alternate between ours and the yardstick, so that noise affects both."""
    with tempfile.TemporaryDirectory() as folder, _pages(Path(folder)) as (ours, echo):
        samples = max(runs * 3, 15)
        pairs = [(ours.sample(), echo.sample()) for _ in range(samples + WARM_UP)][WARM_UP:]
    return [
        Figure(
            "event committed → in the browser",
            [pair[0] for pair in pairs],
            [pair[1] for pair in pairs],
            target=3,
            note="yardstick: a bare Channels consumer echoing the same fragment to the same browser",
        )
    ]


class _Ours:
    """A session's page, and events written by another process: this one."""

    def __init__(self, page: Any, session: Any) -> None:
        self._page, self._session = page, session

    def sample(self) -> float:
        """Return the milliseconds from the commit of an event until it is in the page."""
        from django.db import transaction

        from agents.events.log import record_event
        from agents.locking import lock_session

        time.sleep(BETWEEN)
        committed: list[float] = []
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.time() * 1000))
            locked = lock_session(self._session.pk)
            record_event(locked, "output", actor="agent:bench", text="reconciled 17 rows")
        return _arrival(self._page, locked.last_seq) - committed[0]


class _Echo:
    """A bare page that receives its own fragments."""

    def __init__(self, page: Any, fragment: Callable[[int], str]) -> None:
        self._page, self._fragment, self._count = page, fragment, 0

    def sample(self) -> float:
        """Return the milliseconds from sending a fragment until it is in the page."""
        time.sleep(BETWEEN)
        self._count += 1
        sent = float(self._page.evaluate(SEND, self._fragment(self._count)))
        return _arrival(self._page, self._count) - sent


def _arrival(page: Any, number: int) -> float:
    """Return when the item with this number entered the page, in ms since 1970."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        time.sleep(0.1)  # asking sooner would be in the way of what is measured
        if arrived := page.evaluate("(number) => window.arrived[number]", str(number)):
            return float(arrived)
    raise RuntimeError(f"item {number} never came into the page")


@contextmanager
def _pages(folder: Path) -> Iterator[tuple[_Ours, _Echo]]:
    """Open both pages in one browser, connected to their servers."""
    from playwright.sync_api import sync_playwright

    from tests.browser import launch
    from tests.live_server import LiveServer

    server = LiveServer(folder / "web.log")
    server.start()
    try:
        with _echo_server(folder) as echo_url, sync_playwright() as playwright:
            browser = launch(playwright.chromium)
            context = browser.new_context()
            session = _session(context, server.url)
            ours, echo = context.new_page(), context.new_page()
            _open(ours, f"{server.url}/sessions/{session.pk}/")
            _open(echo, echo_url)
            yield _Ours(ours, session), _Echo(echo, _fragment_like(session))
            browser.close()
    finally:
        server.stop()


def _open(page: Any, url: str) -> None:
    with page.expect_websocket() as opened:
        page.goto(url)
    if not opened.value.url:
        raise RuntimeError(f"{url} opened no socket")
    page.evaluate(WATCH)
    time.sleep(1)


def _session(context: Any, url: str) -> Any:
    """Open a session of an owner who is signed in in this browser."""
    from django.contrib.auth.models import User
    from django.test import Client

    from agents.lifecycle import AgentState
    from agents.registration import register_agent

    owner = User.objects.create(username="owner")
    agent = register_agent(
        slug="bench",
        owners=[owner],
        runtime_key="markers",
        settings={"command": ["true"]},
        lifecycle=AgentState.ACTIVE,
    )
    client = Client()
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    key = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": key, "url": url}])
    return agent.sessions.get()


def _fragment_like(session: Any) -> Callable[[int], str]:
    """Return the message of an event like the measured ones, for any number."""
    from agents.models import Event
    from workspace.pages import fragments

    def fragment(number: int) -> str:
        event = Event(session=session, kind="output", actor="agent:bench", seq=number)
        event.text, event.created_at = "reconciled 17 rows", session.created_at
        return fragments.events_html([event])

    return fragment


@contextmanager
def _echo_server(folder: Path) -> Iterator[str]:
    from tests.live_server import PROJECT, free_port
    from workspace.local.up import address_answers

    port = free_port()
    command = [sys.executable, "-m", "daphne", "-p", str(port), "bench.echo:application"]
    with (folder / "echo.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=PROJECT, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        while not address_answers(url, "/"):
            if process.poll() is not None:
                raise RuntimeError((folder / "echo.log").read_text())
            time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()
