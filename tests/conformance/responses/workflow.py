"""Our console and a real Agent Framework workflow: its question comes into the queue, a click resumes it.

python -m tests.conformance.responses.workflow HOST_PYTHON, with BASE_URL and NEEDS_YOU_STATE of a
running server in the environment. HOST_PYTHON has agent-framework-foundry-hosting.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import django
import httpx

if TYPE_CHECKING:
    from agents.models import Session

T = TypeVar("T")
HOST = Path(__file__).with_name("workflow_host.py")
PATIENCE = 90.0


def main(host_python: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
    django.setup()
    from tests.live_server import free_port

    port = free_port()
    with _hosted(host_python, port):
        session = _started(f"http://127.0.0.1:{port}")
        browser = _signed_in()
        ask_id = eventually(lambda: _card_of(browser, session), "the question is in the queue")
        _click(browser, ask_id, "EU")
        said = eventually(lambda: _summary(session), "the workflow has gone on")
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


def _started(base_url: str) -> Session:
    """A session of an agent that is driven there, started by its owner; the server's worker runs it."""
    from django.contrib.auth.models import User

    from agents import steering
    from agents.lifecycle import AgentState
    from agents.models import Session
    from agents.registering import register_agent

    owner = User.objects.get(username="owner")
    agent = register_agent(
        slug="agent-framework",
        owners=[owner],
        runtime_key="responses-remote",
        settings={"base_url": base_url, "input": "Close October."},
        lifecycle=AgentState.ACTIVE,
    )
    session = Session.objects.get(agent=agent, is_home=True)
    steering.start(session_id=session.pk, by=owner)
    return session


def _signed_in() -> httpx.Client:
    from django.contrib.auth.models import User
    from django.urls import reverse

    from workspace.entry import issue_token

    browser = httpx.Client(base_url=os.environ["BASE_URL"], follow_redirects=True, trust_env=False)
    page = browser.get(reverse("enter", args=[issue_token(User.objects.get(username="owner"))]))
    if page.request.url.path != "/":
        browser.post(page.request.url.path, data={"csrfmiddlewaretoken": _csrf(page.text)})
    return browser


def _card_of(browser: httpx.Client, session: Session) -> int:
    """The ask's number once its card is on the front page, 0 until then."""
    from asks.models import Ask

    ask = Ask.objects.filter(session=session).first()
    page = browser.get("/").text
    return ask.pk if ask and f'id="ask-{ask.pk}"' in page and "Which ledger" in page else 0


def _click(browser: httpx.Client, ask_id: int, label: str) -> None:
    from asks.models import Option

    option = Option.objects.get(ask=ask_id, label=label).key
    page = browser.get(f"/asks/{ask_id}/").text
    form = {"csrfmiddlewaretoken": _csrf(page), "option": option}
    sent = browser.post(f"/asks/{ask_id}/answer", data=form)
    assert sent.status_code == 200, sent.text[:500]


def _csrf(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None, page[:500]
    return found[1]


def _summary(session: Session) -> str:
    from agents.models import Event

    found = Event.objects.filter(session=session, kind="summary").order_by("seq").last()
    return found.text if found else ""


def eventually(check: Callable[[], T], what: str) -> T:
    """Wait until a check gives something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"it never came that {what}")
        time.sleep(0.2)
    return found


if __name__ == "__main__":
    main(sys.argv[1])
