"""The HTML of the queue's cards in every state.

The HTML of an untouched card is cached until its version changes. The CSRF token, the name note and
what the reader answered before differ between readers; they fill slots whose random names no agent
can guess.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.models import Event, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Delegation
from asks.queue import queries
from asks.queue.earlier_answers import ACTION, EarlierAnswers, Likeness, earlier_answers
from asks.queue.places import CardPlace
from workspace.pages.cards.edit_form import EditField
from workspace.pages.cards.facts import AskFacts, OptionFacts, facts_of, with_past
from workspace.pages.cards.proposals import ProposedChange
from workspace.pages.cards.rules import with_votes
from workspace.pages.cards.undo_facts import UndoFacts
from workspace.templatetags.words import age
from workspace.text.markdown import assembled

Key = tuple[int, datetime, str, int]

REMEMBERED = 2_000
"""How many cards a process caches, a few kilobytes each."""

_CSRF_SLOT = secrets.token_hex(16)
_NAME_SLOT = secrets.token_hex(16)
_WHOLE_SLOT = secrets.token_hex(16)
_FOLD = re.compile(r"(<details[^<>]*\sdata-fold\b)")
_EARLIER_SLOT = secrets.token_hex(16)
_remembered: dict[Key, str] = {}


@dataclass(frozen=True, kw_only=True)
class CardState:
    """What happened to a card since it was shown: a refusal, typed words, an answer to confirm.

    `same` is the answer that a stale card was given, to be given to this one by one press; `prove`
    that the reader must prove who they are first; `may_not` why the reader answers nothing here;
    `again` is the token with which what expired can be asked again; `fields` is a changed call as it
    was typed, `change` what such a call comes to, to be looked at once more.
    """

    refused: str = ""
    words_are_wrong: bool = False
    typed: str = ""
    withdraw_typed: str = ""
    confirming: OptionFacts | None = None
    replaces: int | None = None
    same: OptionFacts | None = None
    prove: bool = False
    may_not: str = ""
    again: str = ""
    fields: tuple[EditField, ...] = ()
    change: ProposedChange | None = None


def ask_card(
    facts: AskFacts,
    *,
    csrf: str,
    state: CardState | None = None,
    name: str = "",
    earlier: str = "",
) -> SafeString:
    """Render the card of an open ask.

    `csrf` is empty for a card that a socket sends: the page has the token. `name` is HTML that says
    in whose name the reader answers, if not in their own, and `earlier` HTML that says what they
    answered to the same question before.
    """
    shown = {"ask": facts, "state": state or CardState(), "in_whose_name": name}
    html = _render("cards/ask.html", csrf=csrf, earlier_answers=earlier, whole=_WHOLE_SLOT, **shown)
    return _unfolded(html) if state and state.confirming else _mark_folds(html)


def _unfolded(html: str) -> SafeString:
    """Open every fold of a card that asks for its second press: it shows all that the press covers."""
    return assembled(_FOLD.sub(r"\1 open", html).replace(_WHOLE_SLOT, "1"))


def _mark_folds(html: str) -> SafeString:
    """Say in the form whether the card hides a part of its action until somebody unfolds it."""
    return assembled(html.replace(_WHOLE_SLOT, "" if _FOLD.search(html) else "1"))


def earlier_note(earlier: EarlierAnswers | None, likeness: str) -> SafeString:
    """Render what the reader answered to the same question before; empty if nothing."""
    if earlier is None:
        return SafeString()
    is_action = likeness.startswith(ACTION)
    return _render("cards/_earlier_answers.html", earlier=earlier, is_action=is_action)


def name_note(username: str | None, until: datetime | None) -> SafeString:
    """Render in whose name the reader answers; empty without a delegation."""
    if username is None:
        return SafeString()
    return _render("cards/_in_the_name_of.html", username=username, until=until)


def ask_cards(
    places: Sequence[CardPlace], *, csrf: str, reader: AbstractBaseUser
) -> list[SafeString]:
    """Render the untouched cards at these places: one query, and two more for uncached ones.

    One more query if the reader answers in somebody else's name.
    """
    keys = {place.pk: _key(place) for place in places}
    _remember([pk for pk, key in keys.items() if key not in _remembered])
    notes = _name_notes(places)
    before = earlier_answers(reader, [place.pk for place in places])
    found = ((place, _remembered.get(keys[place.pk])) for place in places)
    return [
        assembled(
            html.replace(_CSRF_SLOT, csrf)
            .replace(_NAME_SLOT, notes[place.by_delegation])
            .replace(_EARLIER_SLOT, earlier_note(before.get(_likeness(place)), place.likeness))
        )
        for place, html in found
        if html
    ]


def _likeness(place: CardPlace) -> Likeness:
    return place.agent_id, place.likeness


def _key(place: CardPlace) -> Key:
    """Include the moment: a restored database can assign an id a second time."""
    return place.pk, place.opened_at, age(place.opened_at), place.version


def _name_notes(places: Sequence[CardPlace]) -> dict[int | None, SafeString]:
    """Return the name notes by delegation id."""
    ids = {place.by_delegation for place in places if place.by_delegation is not None}
    notes: dict[int | None, SafeString] = dict.fromkeys((None, *ids), SafeString())
    if ids:
        for delegation in Delegation.objects.filter(pk__in=ids).select_related("delegator"):
            name = delegation.delegator.get_username()
            notes[delegation.pk] = name_note(name, delegation.ends_at)
    return notes


def _remember(missing: list[int]) -> None:
    if not missing:
        return
    if len(_remembered) > REMEMBERED:
        _remembered.clear()
    for ask in with_votes(with_past(queries.with_card_facts(Ask.objects.filter(pk__in=missing)))):
        place = CardPlace(ask.pk, ask.opened_at, ask.session_id, ask.card_version)
        card = ask_card(
            facts_of(ask),
            csrf=_CSRF_SLOT,
            name=SafeString(_NAME_SLOT),
            earlier=SafeString(_EARLIER_SLOT),
        )
        _remembered[_key(place)] = str(card)


def blocked_card(
    session: Session, *, csrf: str, said: str = "", refused: str = "", typed: str = ""
) -> SafeString:
    """Render the card of a session that is blocked without asking, with a message box.

    `said` is the HTML of its last report (`last_words`).
    """
    state = {"said": said, "refused": refused, "typed": typed}
    return _render("cards/blocked.html", session=session, csrf=csrf, **state)


def last_words(sessions: Iterable[Session]) -> dict[int, str]:
    """Return each session's last report as stored HTML, by session id. At most one query."""
    ids = [session.pk for session in sessions]
    if not ids:
        return {}
    reports = Event.objects.filter(session__in=ids, kind__in=("summary", "report"))
    newest = reports.order_by("session_id", "-seq").distinct("session_id")
    return dict(newest.values_list("session_id", "html"))


def settled_card(
    ask: Ask,
    *,
    mine: bool = False,
    state: CardState | None = None,
    undo: UndoFacts | None = None,
    missing: str = "",
) -> SafeString:
    """Render a closed card, or an open one that its reader voted on: what was asked, what came of it.

    `mine` means that the reader just closed it, so drafts can be deleted; `undo`, that they can take
    their answer back. `missing` says whom an open ask still waits for.
    """
    context = {"mine": mine, "state": state, "undo": undo, "missing": missing}
    context["answered"] = ask.status == AskStatus.ANSWERED
    return _render("cards/settled.html", ask=ask, facts=facts_of(ask), **context)


def moved_on_card(session_id: int, *, words: str, mine: bool = False) -> SafeString:
    """Render what remains of a blocked session's card once it is no longer blocked."""
    return _render("cards/moved_on.html", session_id=session_id, words=words, mine=mine)


def _render(name: str, **context: object) -> SafeString:
    return assembled(render_to_string(name, context))
