"""A card in the queue: the facts it shows, and its HTML.

Rendering is a pure function of the facts, so the HTML of an untouched card is remembered by them.
The one thing that differs between readers, the CSRF token, goes into a slot that no agent can name.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from agents.models import Event, Session
from asks.lifecycle import AskKind, AskStatus, Style
from asks.models import Ask, Gate
from workspace.markdown import assembled
from workspace.templatetags.words import age

TITLE_LENGTH = 160
"""Characters. A longer question is set as prose instead of as a title."""
SHOWN_OPTIONS = 12
"""Options beyond these stand behind a disclosure, all reachable."""

_CSRF_SLOT = secrets.token_hex(16)


@dataclass(frozen=True)
class OptionFacts:
    key: str
    label: str
    detail: str
    style: str

    @property
    def is_danger(self) -> bool:
        return self.style == Style.DANGER


@dataclass(frozen=True)
class Row:
    """One value of a bound action.

    `sign` is "-" for what was asked before, "+" for what replaced it.
    """

    sign: str
    name: str
    value: str


@dataclass(frozen=True)
class ActionFacts:
    """What exactly will happen, and the binding that goes with an answer to it."""

    operation: str
    rows: tuple[Row, ...]
    changed: int
    total: int
    action_hash: str
    policy_version: int
    run_version: str

    @property
    def short_hash(self) -> str:
        digest = self.action_hash.removeprefix("v1:")
        return f"{digest[:4]} {digest[4:8]}"


@dataclass(frozen=True)
class AskFacts:
    """All that the card of an open ask shows."""

    id: int
    session_id: int
    kind: str
    agent_slug: str
    agent_name: str
    run_number: int
    gate_number: int | None
    opened_at: datetime
    age: str
    expires_at: datetime | None
    prompt_html: str
    is_long: bool
    options: tuple[OptionFacts, ...]
    free_text: bool
    money_critical: bool
    action: ActionFacts | None
    added: tuple[tuple[str, str], ...]

    @property
    def first_options(self) -> tuple[OptionFacts, ...]:
        return self.options[:SHOWN_OPTIONS]

    @property
    def more_options(self) -> tuple[OptionFacts, ...]:
        return self.options[SHOWN_OPTIONS:]

    @property
    def has_details(self) -> bool:
        return any(option.detail for option in self.options)

    @property
    def is_approval(self) -> bool:
        return self.kind == AskKind.APPROVAL

    def option(self, key: str) -> OptionFacts | None:
        return next((option for option in self.options if option.key == key), None)


@dataclass(frozen=True, kw_only=True)
class CardState:
    """What happened to a card since it was shown: a refusal, typed words, an answer to confirm."""

    refused: str = ""
    words_are_wrong: bool = False
    typed: str = ""
    withdraw_typed: str = ""
    confirming: OptionFacts | None = None
    replaces: int | None = None


def with_past(asks: QuerySet[Ask]) -> QuerySet[Ask]:
    """Adds the ask that each one replaced, whose action is shown struck out. No extra query."""
    return asks.select_related("supersedes__gate", "agent", "session", "run", "gate")


def facts_of(ask: Ask) -> AskFacts:
    """Reads an ask that came with all that it shows (`asks.queue.with_card_facts`)."""
    gate = gate_of(ask)
    return AskFacts(
        id=ask.pk,
        session_id=ask.session_id,
        kind=ask.kind,
        agent_slug=ask.agent.slug,
        agent_name=ask.agent.name,
        run_number=ask.run.number,
        gate_number=gate.number if gate else None,
        opened_at=ask.opened_at,
        age=age(ask.opened_at),
        expires_at=ask.expires_at,
        prompt_html=ask.prompt_html,
        is_long=_is_long(ask.prompt),
        options=tuple(
            OptionFacts(option.key, option.label, option.detail, option.style)
            for option in ask.options.all()
        ),
        free_text=ask.free_text,
        money_critical=ask.money_critical,
        action=_action(gate, _gate_before(ask)) if gate else None,
        added=tuple((name, _words(value)) for name, value in ask.context.items()),
    )


def gate_of(ask: Ask) -> Gate | None:
    try:
        return ask.gate
    except ObjectDoesNotExist:
        return None


def _gate_before(ask: Ask) -> Gate | None:
    """The gate of the ask that this one replaced."""
    try:
        return gate_of(ask.supersedes)
    except ObjectDoesNotExist:
        return None


def _is_long(prompt: str) -> bool:
    return len(prompt.split("\n\n", 1)[0]) > TITLE_LENGTH


def _action(gate: Gate, before: Gate | None) -> ActionFacts:
    now, was = _named(gate.params), _named(before.params) if before else None
    rows = tuple(_rows(now, now if was is None else was))
    return ActionFacts(
        operation=gate.operation,
        rows=rows,
        changed=len({row.name for row in rows if row.sign}),
        total=len({row.name for row in rows}),
        action_hash=gate.action_hash,
        policy_version=gate.policy_version,
        run_version=gate.run_version,
    )


def _named(params: object) -> dict[str, str]:
    """The params as names and words; what is not an object has one value."""
    values: Mapping[str, object] = params if isinstance(params, dict) else {"value": params}
    return {name: _words(value) for name, value in values.items()}


def _rows(now: dict[str, str], was: dict[str, str]) -> list[Row]:
    rows = []
    for name in [*now, *(name for name in was if name not in now)]:
        if now.get(name) == was.get(name):
            rows.append(Row("", name, now[name]))
            continue
        if name in was:
            rows.append(Row("-", name, was[name]))
        if name in now:
            rows.append(Row("+", name, now[name]))
    return rows


def _words(value: object) -> str:
    """A value as it is read: text bare; all else, and text that looks like it, as JSON."""
    if isinstance(value, str) and value.strip() == value and value and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def ask_card(facts: AskFacts, *, csrf: str, state: CardState | None = None) -> SafeString:
    """The card of an open ask.

    `csrf` is empty for a card that a socket sends: the page has the token.
    """
    if state is None:
        return assembled(_untouched(facts).replace(_CSRF_SLOT, csrf))
    return _render("parts/card_ask.html", ask=facts, state=state, csrf=csrf)


@lru_cache(maxsize=2000)
def _untouched(facts: AskFacts) -> str:
    return str(_render("parts/card_ask.html", ask=facts, state=CardState(), csrf=_CSRF_SLOT))


def blocked_card(
    session: Session, *, csrf: str, said: str = "", refused: str = "", typed: str = ""
) -> SafeString:
    """The card of a session that says it is blocked and asked nothing: it has a box for words.

    `said` is the HTML of what it last reported (`last_words`).
    """
    state = {"said": said, "refused": refused, "typed": typed}
    return _render("parts/card_blocked.html", session=session, csrf=csrf, **state)


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
    return _render("parts/card_settled.html", ask=ask, mine=mine, answered=answered, state=state)


def moved_on_card(session_id: int, *, words: str, mine: bool = False) -> SafeString:
    """What is left of a blocked session's card once it is not blocked any more."""
    return _render("parts/card_moved_on.html", session_id=session_id, words=words, mine=mine)


def _render(name: str, **context: object) -> SafeString:
    return assembled(render_to_string(name, context))
