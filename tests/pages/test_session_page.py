"""A session's page: its thread, its cards, the box to write to it, start, stop and resume."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from agents.events.log import record_event
from agents.lifecycle import Outcome
from agents.locking import lock_session
from agents.models import Agent, InboxItem, Run, Session
from tests.pages import world
from tests.pages.html import Element, read

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return world.agent_of(owner, colleague)


@pytest.fixture
def session(agent: Agent) -> Session:
    return world.home(agent)


def open_page(client: Client, session: Session, query: str = "") -> Element:
    response = client.get(f"/sessions/{session.pk}/{query}")
    assert response.status_code == 200
    return read(response.content)


def say(session: Session, *texts: str, kind: str = "report") -> None:
    with transaction.atomic():
        locked = lock_session(session.pk)
        for text in texts:
            record_event(locked, kind, actor="agent:ledger-close", text=text)


def seqs(page: Element) -> list[int]:
    return [int(str(item.attrs["data-seq"])) for item in page.one("ol", id="stream").all("li")]


def test_the_thread_is_whole_and_in_order(as_owner: Client, agent: Agent, session: Session) -> None:
    world.turn(agent, world.question(), report="I **stopped** here.")
    page = open_page(as_owner, session)
    session.refresh_from_db()
    assert seqs(page) == list(range(1, session.last_seq + 1))
    words = page.one("ol", id="stream").words
    for expected in (
        "Run 1 started because of a person",
        "I stopped here.",
        "Asked a question",
        "It waits for an answer.",
    ):
        assert expected in words


def test_its_open_asks_can_be_answered_here(
    as_owner: Client, agent: Agent, session: Session
) -> None:
    ask = world.asked(agent)
    world.asked(world.agent_of(agent.owners.first(), slug="other"))  # type: ignore[arg-type]
    cards = open_page(as_owner, session).one("div", id="cards").all("article")
    assert [card.attrs["id"] for card in cards] == [f"ask-{ask.pk}"]


@pytest.mark.parametrize(
    "kind",
    [
        "started",
        "output",
        "step",
        "report",
        "notice",
        "ignored",
        "asked",
        "verdict",
        "withdrawn",
        "expired",
        "superseded",
        "refused",
        "message",
        "mail",
        "mail_lost",
        "blocked",
        "ended",
        "error",
        "state",
        "usage",
        "new",
    ],
)
def test_every_kind_of_event_shows_its_words_as_text(
    as_owner: Client, session: Session, kind: str
) -> None:
    say(session, "<script>alert(1)</script> &amp; \u202e", kind=kind)
    item = open_page(as_owner, session).one("ol", id="stream").all("li")[-1]
    assert item.all("script") == []
    assert item.words
    assert "\u202e" not in item.words


def test_what_an_answer_said_is_in_the_thread(
    as_owner: Client, agent: Agent, session: Session
) -> None:
    ask = world.asked(agent, world.question(free_text=True))
    as_owner.post(f"/asks/{ask.pk}/answer", {"option": "eu", "text": "mind <b>FX</b>"})
    words = open_page(as_owner, session).one("ol", id="stream").words
    assert "olga answered EU ledger" in words
    assert "mind <b>FX</b>" in words


def test_what_only_a_protocols_door_tells_is_not_in_the_thread(
    as_owner: Client, session: Session
) -> None:
    say(session, "unheard", kind="noted")
    say(session, "heard")
    page = open_page(as_owner, session)
    assert "heard" in page.one("ol", id="stream").words
    assert "unheard" not in str(page.one("ol", id="stream").words).split()
    last = seqs(page)[-1]
    polled = as_owner.get(f"/sessions/{session.pk}/events?after={last - 2}").content.decode()
    assert "unheard" not in polled
    assert f'<li data-seq="{last - 1}" hidden></li>' in polled


def test_a_long_thread_shows_its_end_and_leads_to_its_beginning(
    as_owner: Client, session: Session
) -> None:
    say(session, *[f"line {n}" for n in range(250)])
    session.refresh_from_db()
    newest = seqs(open_page(as_owner, session))
    assert len(newest) == 200
    assert newest[-1] == session.last_seq
    earlier = open_page(as_owner, session, f"?before={newest[0]}")
    assert seqs(earlier) == list(range(1, newest[0]))
    assert earlier.all(ws_connect=f"/ws/sessions/{session.pk}/") == []


@pytest.mark.parametrize("before", ["x", "-1", "1.5", "9" * 30, "\u0661"])
def test_an_odd_place_in_the_thread_is_not_found(
    as_owner: Client, session: Session, before: str
) -> None:
    assert as_owner.get(f"/sessions/{session.pk}/", {"before": before}).status_code == 404


def test_polling_gets_exactly_what_comes_after(as_owner: Client, session: Session) -> None:
    say(session, "one", "two")
    session.refresh_from_db()
    answer = read(
        as_owner.get(f"/sessions/{session.pk}/events", {"after": session.last_seq - 1}).content
    )
    assert seqs(answer) == [session.last_seq]
    assert (
        as_owner.get(f"/sessions/{session.pk}/events", {"after": session.last_seq}).content == b""
    )
    assert (
        as_owner.get(f"/sessions/{session.pk}/events", {"after": session.last_seq + 1}).status_code
        == 409
    )


def test_what_changed_around_the_thread(as_owner: Client, agent: Agent, session: Session) -> None:
    ask = world.asked(agent)
    changes = read(as_owner.get(f"/sessions/{session.pk}/changes", {"have": ""}).content)
    assert "Waiting for you" in changes.one("header", id="session-state").words
    assert changes.one("div", id="cards").one("article", id=f"ask-{ask.pk}")


PATHS = ["", "events", "changes", "pane"]
POSTS = ["message", "start", "stop", "resume"]


@pytest.mark.parametrize("path", PATHS)
def test_who_may_look(
    as_owner: Client,
    as_colleague: Client,
    as_stranger: Client,
    client: Client,
    session: Session,
    path: str,
) -> None:
    url = f"/sessions/{session.pk}/{path}"
    assert as_owner.get(url).status_code == as_colleague.get(url).status_code == 200
    assert as_stranger.get(url).status_code == 404
    assert client.get(url).status_code == 302


@pytest.mark.parametrize("path", POSTS)
def test_who_may_not_act(as_stranger: Client, client: Client, session: Session, path: str) -> None:
    url = f"/sessions/{session.pk}/{path}"
    assert as_stranger.post(url, {"text": "hi"}).status_code == 404
    assert client.post(url, {"text": "hi"}).status_code == 401
    assert not InboxItem.objects.exists()
    assert not Run.objects.exists()


def test_a_message_is_owed_and_starts_a_turn(as_owner: Client, session: Session) -> None:
    response = as_owner.post(f"/sessions/{session.pk}/message", {"text": "Use EU."}, follow=True)
    assert (
        "Sent. ledger-close reads it in its next turn."
        in read(response.content).one("div", id="toasts").words
    )
    assert InboxItem.objects.get(session=session).body == "Use EU."
    assert Run.objects.filter(session=session, status="queued").exists()


def test_a_message_by_htmx_brings_an_empty_box(as_owner: Client, session: Session) -> None:
    response = as_owner.post(f"/sessions/{session.pk}/message", {"text": "Use EU."}, headers=HTMX)
    composer = read(response.content).one("form", id="composer")
    assert composer.one("textarea").words == ""
    assert composer.attrs["data-sent"] == f"message-{session.pk}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Write something"),
        (" \n", "Write something"),
        ("\u200b", "Write something"),
        ("a\x00b", "NUL"),
        ("x" * 16001, "16001 characters"),
    ],
)
@pytest.mark.parametrize("htmx", [True, False])
def test_a_message_that_cannot_be_sent_comes_back(
    as_owner: Client,
    session: Session,
    text: str,
    why: str,
    htmx: bool,
) -> None:
    response = as_owner.post(
        f"/sessions/{session.pk}/message", {"text": text}, headers=HTMX if htmx else {}
    )
    assert response.status_code == 422
    composer = read(response.content).one("form", id="composer")
    assert why in composer.words
    assert composer.fields()["text"].replace("\n", "") == text.replace("\x00", "\ufffd").replace(
        "\n", ""
    )
    assert not InboxItem.objects.exists()
    assert not Run.objects.exists()


def test_the_card_of_a_blocked_session_takes_words_too(
    as_owner: Client, agent: Agent, session: Session
) -> None:
    world.turn(agent)
    url = f"/sessions/{session.pk}/message"
    refused = as_owner.post(url, {"text": " ", "from": "card"}, headers=HTMX)
    assert refused.status_code == 422
    assert "empty message" in read(refused.content).one("article", id=f"session-{session.pk}").words
    sent = read(as_owner.post(url, {"text": "go on", "from": "card"}, headers=HTMX).content)
    assert (
        sent.one("article", id=f"session-{session.pk}").attrs["data-sent"]
        == f"session-{session.pk}"
    )
    assert sent.one("span", id="needs-badge").attrs["data-count"] == "0"


def test_two_megabytes_are_not_read(as_owner: Client, session: Session) -> None:
    assert as_owner.post(
        f"/sessions/{session.pk}/message", {"text": "x" * 2_000_000}
    ).status_code in {400, 413}
    assert not InboxItem.objects.exists()


def test_start_stop_and_resume(as_owner: Client, session: Session) -> None:
    page = read(as_owner.post(f"/sessions/{session.pk}/start", follow=True).content)
    assert page.one("form", action=f"/sessions/{session.pk}/stop")
    page = read(as_owner.post(f"/sessions/{session.pk}/stop", follow=True).content)
    assert page.one("form", action=f"/sessions/{session.pk}/resume")
    assert "Paused" in page.one("header", id="session-state").words
    as_owner.post(f"/sessions/{session.pk}/resume")
    session.refresh_from_db()
    assert session.state == "active"


@pytest.mark.parametrize("path", ["start", "stop", "resume"])
def test_looking_at_a_verb_does_nothing(as_owner: Client, session: Session, path: str) -> None:
    assert as_owner.get(f"/sessions/{session.pk}/{path}").status_code == 405
    assert not Run.objects.exists()


def test_an_ended_session_takes_no_words(as_owner: Client, session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(state="ended")
    assert as_owner.post(f"/sessions/{session.pk}/message", {"text": "hello"}).status_code == 409
    assert "disabled" in open_page(as_owner, session).one("textarea", id="message").attrs


@pytest.mark.parametrize("count", [1, 30])
def test_queries_do_not_grow_with_the_thread(
    as_owner: Client,
    agent: Agent,
    session: Session,
    count: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(count):
        world.turn(agent, outcome=Outcome.NO_WORK)
    with django_assert_max_num_queries(10):
        open_page(as_owner, session)
