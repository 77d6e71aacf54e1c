"""The HTML of the cards in the queue, whatever state they are in.

The HTML of an untouched card is remembered as long as its version stands. What differs between
readers, the CSRF token and in whose name they answer, goes into slots that no agent can name.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.models import Event, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Delegation
from asks.queue import queries
from asks.queue.places import CardPlace
from workspace.pages.cards.edit_form import EditField
from workspace.pages.cards.facts import AskFacts, OptionFacts, facts_of, with_past
from workspace.pages.cards.proposals import ProposedChange
from workspace.pages.cards.rules import with_votes
from workspace.templatetags.words import age
from workspace.text.markdown import assembled

Key = tuple[int, datetime, str, int]

REMEMBERED = 2_000
"""Cards whose HTML a process keeps, a few kilobytes each."""

_CSRF_SLOT = secrets.token_hex(16)
_NAME_SLOT = secrets.token_hex(16)
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
    facts: AskFacts, *, csrf: str, state: CardState | None = None, name: str = ""
) -> SafeString:
    """The card of an open ask.

    `csrf` is empty for a card that a socket sends: the page has the token. `name` is HTML that says
    in whose name the reader answers, if not in their own.
    """
    state = state or CardState()
    return _render("cards/ask.html", ask=facts, state=state, csrf=csrf, in_whose_name=name)


def name_note(username: str | None, until: datetime | None) -> SafeString:
    """Says in whose name the reader answers; empty for one's own."""
    if username is None:
        return SafeString()
    return _render("cards/_in_the_name_of.html", username=username, until=until)


def ask_cards(places: Sequence[CardPlace], *, csrf: str) -> list[SafeString]:
    """The untouched cards at these places; two queries for those not remembered, else none.

    One query more where the reader answers in somebody else's name.
    """
    keys = {place.pk: _key(place) for place in places}
    _remember([pk for pk, key in keys.items() if key not in _remembered])
    notes = _name_notes(places)
    found = ((place, _remembered.get(keys[place.pk])) for place in places)
    return [
        assembled(html.replace(_CSRF_SLOT, csrf).replace(_NAME_SLOT, notes[place.by_delegation]))
        for place, html in found
        if html
    ]


def _key(place: CardPlace) -> Key:
    """The moment guards against a restored database that gives a number away again."""
    return place.pk, place.opened_at, age(place.opened_at), place.version


def _name_notes(places: Sequence[CardPlace]) -> dict[int | None, SafeString]:
    """What is said of the names that the reader answers in, by the delegations' ids."""
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
        card = ask_card(facts_of(ask), csrf=_CSRF_SLOT, name=SafeString(_NAME_SLOT))
        _remembered[_key(place)] = str(card)


def blocked_card(
    session: Session, *, csrf: str, said: str = "", refused: str = "", typed: str = ""
) -> SafeString:
    """The card of a session that says it is blocked and asked nothing: it has a box for words.

    `said` is the HTML of what it last reported (`last_words`).
    """
    state = {"said": said, "refused": refused, "typed": typed}
    return _render("cards/blocked.html", session=session, csrf=csrf, **state)


def last_words(sessions: Iterable[Session]) -> dict[int, str]:
    """What each session last reported, as stored HTML by its id, in one query at most."""
    ids = [session.pk for session in sessions]
    if not ids:
        return {}
    told = Event.objects.filter(session__in=ids, kind__in=("summary", "report"))
    newest = told.order_by("session_id", "-seq").distinct("session_id")
    return dict(newest.values_list("session_id", "html"))


def settled_card(ask: Ask, *, mine: bool = False, state: CardState | None = None) -> SafeString:
    """What is left of a card once it is over, in words.

    `mine` when the reader has just done it: drafts may go.
    """
    answered = ask.status == AskStatus.ANSWERED
    return _render("cards/settled.html", ask=ask, mine=mine, answered=answered, state=state)


def moved_on_card(session_id: int, *, words: str, mine: bool = False) -> SafeString:
    """What is left of a blocked session's card once it is not blocked any more."""
    return _render("cards/moved_on.html", session_id=session_id, words=words, mine=mine)


def _render(name: str, **context: object) -> SafeString:
    return assembled(render_to_string(name, context))
