"""A person at our console, as a driver of remote agents needs one: an agent started, a card, a click.

The server's address is BASE_URL, its state NEEDS_YOU_STATE; its worker runs the agent.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

if TYPE_CHECKING:
    from agents.models import Session
    from asks.models import Ask

T = TypeVar("T")
PATIENCE = 90.0
_HIDDEN = re.compile(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"')


def started(slug: str, runtime: str, settings: dict[str, Any]) -> Session:
    """The home session of a new agent of the owner's, started by them."""
    from django.contrib.auth.models import User

    from agents import controls
    from agents.lifecycle import AgentState
    from agents.models import Session
    from agents.registration import register_agent

    owner = User.objects.get(username="owner")
    agent = register_agent(
        slug=slug,
        owners=[owner],
        runtime_key=runtime,
        settings=settings,
        lifecycle=AgentState.ACTIVE,
    )
    session = Session.objects.get(agent=agent, is_home=True)
    controls.start_session(session_id=session.pk, by=owner)
    return session


def signed_in() -> httpx.Client:
    """The owner's browser, by a sign-in link."""
    from django.contrib.auth.models import User

    from workspace.accounts.sign_in_links import issue_path

    browser = httpx.Client(base_url=os.environ["BASE_URL"], follow_redirects=True, trust_env=False)
    page = browser.get(issue_path(User.objects.get(username="owner")))
    if page.request.url.path != "/":
        browser.post(page.request.url.path, data=_hidden(page.text))
    return browser


def card_of(browser: httpx.Client, session: Session, words: str) -> Ask | None:
    """The session's ask once its card is on the front page with these words."""
    from asks.models import Ask

    ask = Ask.objects.filter(session=session, status="open").first()
    page = browser.get("/").text
    return ask if ask and f'id="ask-{ask.pk}"' in page and words in page else None


def click(browser: httpx.Client, ask: Ask, label: str) -> None:
    """Press the option of that label, with all that its form holds."""
    option = ask.options.get(label=label).key
    page = browser.get(f"/asks/{ask.pk}/").text
    form = page.split(f'action="/asks/{ask.pk}/answer"', 1)[1].split("</form>", 1)[0]
    sent = browser.post(f"/asks/{ask.pk}/answer", data=_hidden(form) | {"option": option})
    assert sent.status_code == 200, sent.text[:500]
    ask.refresh_from_db()
    assert ask.status == "answered", ask.status


def _hidden(page: str) -> dict[str, str]:
    return dict(_HIDDEN.findall(page))


def summary_of(session: Session) -> str:
    """What the agent reported last."""
    from agents.models import Event

    found = Event.objects.filter(session=session, kind="summary").order_by("seq").last()
    return found.text if found else ""


def eventually(check: Callable[[], T | None], what: str) -> T:
    """Wait until a check gives something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while not (found := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"it never came that {what}")
        time.sleep(0.2)
    return found
