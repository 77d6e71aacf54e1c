"""Whatever words an agent says, in whichever place: every page that shows them is there, and harmless."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agents.events.log import record_event
from agents.locking import lock_session
from agents.models import Agent
from asks import answering
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.models import Ask
from tests.pages import world
from tests.pages.html import Element, read
from workspace.text.visible import visible

pytestmark = pytest.mark.django_db

WORDS = {
    "brackets": "[" * 3_000,
    "JSON without end": '{"a":' * 900,
    "quotes": "\n".join(["> " * 40] * 60),
    "tables": "|a|b|\n|-|-|\n" * 300,
    "links": "![a](http://" * 250,
    "templates": "{% if %}{{ x }}{# %s {0} %(x)s " * 60,
    "markup": "</script></textarea></style></title></template><img src=x onerror=alert(1)>" * 9,
    "attributes": "' onmouseover=alert(1) x='\" onfocus=alert(1) autofocus style=x x=\"",
    "addresses": "[a](javascript:alert(1)) <javascript:alert(1)> [b](data:text/html,<script>alert(1)//)",
    "directions": "pay \u202e0001\u2066\u200b\u2028\u2029\x1b[31m\x7f\x85\ufeff of it",
}
RUNNING = {"onerror", "onmouseover", "onfocus", "onload", "autofocus"}


def everywhere(agent: Agent, words: str) -> Ask:
    """Have an agent say this wherever it can say something; the question that it asks with it."""
    options = (OptionDraft("a", words[:200], words[:500]), OptionDraft("b", f"{words[:199]}b"))
    question = AskDraft(request_key=words[:100], prompt=words, options=options)
    params = {"text": words, words[:60]: [words[:60], {words[:60]: {words[:60]: 1}}]}
    action = ActionDraft(words[:100], params, schema={"type": "object", "title": words})
    world.turn(agent, question, world.approval(action=action), report=words)
    with transaction.atomic():
        session = lock_session(world.home(agent).pk)
        data = dict.fromkeys(("detail", "status", "why", words[:50]), words)
        for kind in ("output", "step", "notice", "ignored", "message", "error", "other"):
            record_event(session, kind, actor=f"agent:{agent.slug}", text=words, data=data)
    return Ask.objects.get(agent=agent, kind="question")


def pages_of(ask: Ask) -> Iterator[str]:
    thread = f"/sessions/{ask.session_id}/"
    yield from ("/", "/agents/", f"/agents/{ask.agent.slug}/", "/backlog/", "/decisions/")
    yield from (thread, f"{thread}pane", f"{thread}events?after=0", f"{thread}changes?after=0")
    yield from (f"/asks/{pk}/" for pk in Ask.objects.values_list("pk", flat=True))
    yield f"/decisions/{ask.pk}/receipt/"
    yield from (f"/admin/{name}/" for name in ("agents/event", "agents/run", "asks/verdict"))
    yield from (f"/admin/asks/ask/{way}" for way in ("", f"{ask.pk}/change/"))
    yield f"/admin/agents/session/{ask.session_id}/change/"


def what_would_run(page: Element) -> list[str]:
    """What an agent put there that a browser would carry out."""
    addresses = [
        str(one.attrs.get(name)) for one in page.all() for name in ("href", "src", "action")
    ]
    return [
        *(f"<{one.tag} {name}>" for one in page.all() for name in RUNNING & set(one.attrs)),
        *(address for address in addresses if address.startswith(("javascript:", "data:", "x"))),
    ]


@pytest.fixture
def auditor(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("auditor"))
    return client


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_every_page_is_there_and_harmless(
    owner: User, as_owner: Client, auditor: Client, words: str
) -> None:
    ask = everywhere(world.agent_of(owner), words)
    assert as_owner.get("/").status_code == 200
    answering.answer_ask(ask_id=ask.pk, by=owner, option="a", text=words)
    for address in pages_of(ask):
        answer = (auditor if address.startswith("/admin/") else as_owner).get(address)
        assert answer.status_code == 200, address
        page = answer.content.decode()
        assert visible(page) == page, address
        if not address.startswith("/admin/"):
            assert what_would_run(read(page)) == [], address


def test_the_test_itself_sees_what_would_run() -> None:
    page = read('<p onfocus="x"><a href="javascript:x">a</a><img src="x"></p>')
    assert what_would_run(page) == ["<p onfocus>", "javascript:x", "x"]
