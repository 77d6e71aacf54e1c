"""Fragments that update an open page, sent by the live sockets and returned to polling.

Every fragment is a sequence of out-of-band elements for htmx. Nothing here is a whole page. All
functions read the database synchronously.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from agents.models import Agent, Event, Session
from asks import access
from asks.lifecycle import AskStatus
from asks.models import Ask
from asks.queue import places, queries
from asks.queue.places import PAGE_SIZE, CardPlace
from workspace.pages.cards import failing, markup, waiting
from workspace.pages.cards.facts import facts_of, with_past
from workspace.pages.cards.rules import with_votes
from workspace.pages.cards.undo_facts import UndoFacts
from workspace.text.markdown import assembled

HEARTBEAT = '<span id="beat" hx-swap-oob="true" hidden></span>'
"""A message without content that keeps the connection alive."""


FULL = "full."
"""Before the number that its badge shows: a page says so that is one of several and takes no others."""

HeldCards = frozenset[str]
"""The cards of a page, by their ids and, of asks, their versions: `ask-12.3`, `session-3`, `agent-7`."""


@dataclass(frozen=True)
class Changes:
    """The HTML that updates a page, and the cards that it holds afterwards."""

    html: str
    have: HeldCards


def events_html(events: Iterable[Event]) -> str:
    """Render one message that appends events to a thread; empty if there are none."""
    return thread_html(event_html(event) for event in events)


def thread_html(rendered: Iterable[str]) -> str:
    """Do the same for events already rendered by `event_html`."""
    items = "".join(rendered)
    return f'<ol id="stream" hx-swap-oob="beforeend">{items}</ol>' if items else ""


def event_html(event: Event) -> str:
    """Render one item of a thread."""
    return render_to_string("events/event.html", {"event": event})


def queue_changes(person: AbstractBaseUser, have: HeldCards) -> Changes:
    """Return the changes for a page that shows the first page of a person's queue, or one of several."""
    if any(name.startswith(FULL) for name in have):
        return _full_page_changes(person, have)
    return _changes(
        person,
        places.first_places(person)[:PAGE_SIZE],
        places.blocked_places(person),
        have,
        broken=failing.first_failing(person),
    )


def _full_page_changes(person: AbstractBaseUser, have: HeldCards) -> Changes:
    """Return the changes of the cards that a page holds, and the number that waits."""
    shown = {name for name in have if name.startswith(FULL)}
    changes = _changes(person, [], [], have - shown)
    count = queries.count_badge(person)
    now = f"{FULL}{count}"
    news = changes.html or ("" if now in shown else badge_html(count))
    return Changes(news, changes.have | {now})


def session_changes(person: AbstractBaseUser, session: Session, have: HeldCards) -> Changes:
    """Return the changes for the page of one session, which shows only its own asks."""
    asks = queries.open_asks(person).filter(session=session)
    return _changes(person, places.places_of(asks), [], have)


def ask_changes(person: AbstractBaseUser, ask_id: int, have: HeldCards) -> Changes:
    """Return the changes for the page of one ask, whoever may answer it."""
    name = f"ask-{ask_id}"
    held = dict(held.partition(".")[::2] for held in have)
    if name not in held:
        return Changes("", frozenset())
    mine = access.asks_of(person).filter(pk=ask_id, status=AskStatus.OPEN)
    version = mine.values_list("card_version", flat=True).first()
    if version is None:
        gone = _gone(person, frozenset({name})) + badge_html(queries.count_badge(person))
        return Changes(gone, frozenset())
    names = frozenset({f"{name}.{version}"})
    return Changes("" if held[name] in ("", str(version)) else standing_html([ask_id]), names)


def _changes(
    person: AbstractBaseUser,
    asks: list[CardPlace],
    blocked: list[Session],
    have: HeldCards,
    *,
    broken: Sequence[Agent] = (),
) -> Changes:
    held = dict(name.partition(".")[::2] for name in have)
    asked = {f"ask-{place.pk}": place for place in asks}
    stuck = {f"session-{session.pk}": session for session in blocked}
    failed = {failing.card_name(agent): agent for agent in broken}
    now = {name: str(place.version) for name, place in asked.items()}
    now |= dict.fromkeys([*stuck, *failed], "")
    now |= _wait_elsewhere(person, held.keys() - now.keys())
    moved = [name for name, version in now.items() if held.get(name, version) not in ("", version)]
    names = frozenset(f"{name}.{version}" if version else name for name, version in now.items())
    if not moved and now.keys() == held.keys():
        return Changes("", names)
    fresh = [asked[name] for name in asked if name not in held]
    html = "".join(markup.ask_cards(fresh, csrf="", reader=person))
    html += _blocked([session for name, session in stuck.items() if name not in held])
    html += "".join(
        failing.failing_card(agent, csrf="") for name, agent in failed.items() if name not in held
    )
    arrived = f'<div id="cards" hx-swap-oob="beforeend">{html}</div>' if html else ""
    news = arrived + standing_html(_numbers(moved, "ask-"))
    over = _gone(person, frozenset(held.keys() - now.keys()))
    return Changes(news + over + badge_html(queries.count_badge(person)), names)


def _wait_elsewhere(person: AbstractBaseUser, names: Iterable[str]) -> dict[str, str]:
    """Return the named cards that still wait below the first page of the queue."""
    asks, sessions = _numbers(names, "ask-"), _numbers(names, "session-")
    waiting: dict[str, str] = {}
    if asks:
        still = access.asks_for(person).filter(pk__in=asks)
        found = still.values_list("pk", "card_version")
        waiting |= {f"ask-{pk}": str(version) for pk, version in found}
    if sessions:
        stuck = queries.blocked_sessions(person).filter(pk__in=sessions)
        waiting |= dict.fromkeys((f"session-{pk}" for pk in stuck.values_list("pk", flat=True)), "")
    if agents := _numbers(names, "agent-"):
        broken = queries.failing_agents(person).filter(pk__in=agents)
        waiting |= dict.fromkeys((failing.card_name(agent) for agent in broken), "")
    return waiting


def standing_html(asks: Iterable[int]) -> str:
    """Render votes, claim and deadline of cards that stay, without touching what is typed there."""
    found = with_votes(with_past(queries.with_card_facts(Ask.objects.filter(pk__in=asks))))
    return "".join(
        render_to_string("cards/standing.html", {"ask": facts_of(ask), "csrf": ""}) for ask in found
    )


def _blocked(sessions: list[Session]) -> str:
    said = markup.last_words(sessions)
    return "".join(
        markup.blocked_card(session, csrf="", said=said.get(session.pk, "")) for session in sessions
    )


def _gone(person: AbstractBaseUser, names: HeldCards) -> str:
    """Replace each closed card with its outcome.

    A name that is not a card of this person is deleted from the page.
    """
    asks = _numbers(names, "ask-")
    found = with_past(queries.with_card_facts(access.asks_of(person).filter(pk__in=asks)))
    over = with_votes(found) if asks else []
    settled = [
        replacing_card(markup.settled_card(ask, missing=waiting.what_is_missing(person, ask)))
        for ask in over
    ]
    known = {f"ask-{ask.pk}" for ask in over}
    known |= {f"session-{number}" for number in _numbers(names, "session-")}
    settled += [
        replacing_card(markup.moved_on_card(number, words=_("It is not blocked any more.")))
        for number in sorted(_numbers(names, "session-"))
    ]
    agents = access.agents_of(person).filter(pk__in=_numbers(names, "agent-")).order_by("pk")
    settled += [replacing_card(failing.mended_card(agent)) for agent in agents]
    known |= {failing.card_name(agent) for agent in agents}
    lost = [
        format_html('<div id="{}" hx-swap-oob="delete"></div>', name)
        for name in sorted(names - known)
    ]
    return "".join([*settled, *lost])


def _numbers(names: Iterable[str], prefix: str) -> set[int]:
    """Return the ids of names such as `ask-12`; ignore everything else."""
    rests = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return {int(rest) for rest in rests if rest.isascii() and rest.isdigit() and len(rest) < 19}


def session_state_html(session: Session, *, csrf: str, oob: bool = True) -> str:
    """Render the head of a session's page: status, reason and controls."""
    context = {"session": session, "csrf": csrf, "oob": oob}
    return render_to_string("parts/session_state.html", context)


def composer_html(
    session: Session, *, csrf: str, refused: str = "", typed: str = "", sent: bool = False
) -> SafeString:
    """Render the message box of a session; after a refusal, with its reason and the typed text."""
    context = {"session": session, "csrf": csrf, "refused": refused, "typed": typed, "sent": sent}
    return assembled(render_to_string("parts/composer.html", context))


def badge_html(count: int) -> SafeString:
    """Render both badges of an open page."""
    return assembled(
        "".join(
            render_to_string("parts/badge.html", {"id": name, "waiting": count, "oob": True})
            for name in ("needs-badge", "needs-badge-tab")
        )
    )


def toast_html(
    words: str,
    *,
    href: str = "",
    link: str = "",
    undo: UndoFacts | None = None,
    refused: bool = False,
) -> SafeString:
    """Render a short message for the corner of the page; with `undo`, one that can be taken back."""
    facts = {"words": words, "href": href, "link": link, "undo": undo, "refused": refused}
    toast = render_to_string("parts/toast.html", facts)
    return assembled(f'<div id="toasts" hx-swap-oob="beforeend">{toast}</div>')


def replacing_card(card: str) -> SafeString:
    """Mark a card to replace the one with the same id anywhere on the page."""
    return assembled(card.replace("<article ", '<article hx-swap-oob="true" ', 1))


def held_fragments(names: str) -> HeldCards:
    """Parse the cards that a page holds, such as `ask-1.0,session-2`; at most 500."""
    return frozenset(name for name in names.split(",")[:500] if 0 < len(name) < 40)
