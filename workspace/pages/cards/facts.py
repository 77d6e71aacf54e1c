"""Everything an ask's card shows, read once and detached from the database.

An open ask never changes: neither do its options, its gate or its words. What does (votes, a claim,
a deadline) moves its `card_version`, so what is read here may be kept as long as that stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Count, F, OuterRef, Prefetch, QuerySet, Subquery

from agents.models import Agent
from agents.text import key_order
from agents.text.canonical_json import Json
from agents.text.outline import write_value
from asks.actions import editing
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask, Gate, Option
from asks.policies import terms
from asks.policies.terms import AskTerms
from asks.policies.wording import WordingPart
from workspace.pages.cards import headline, proposals
from workspace.pages.cards.call_rows import CallRow, rows_of
from workspace.pages.cards.edit_form import EditField
from workspace.pages.cards.rules import ChangeFacts, RuleFacts, changes_of, rules_of
from workspace.templatetags.words import age

TITLE_LENGTH = 160
"""In characters. A longer question is shown as prose, not as a title."""
MOST_BUTTONS = 12
"""Above this number the options are a list of which one is chosen and then sent."""
SHOWN_GATES = 20
"""How many earlier gates a card shows; the thread has the rest."""
DOORS_OWN = frozenset({"eve"})
"""Context keys of a protocol that the card leaves out."""


@dataclass(frozen=True)
class OptionFacts:
    """An offered answer. `label` is on its button, `own_label` what the agent calls it."""

    key: str
    label: str
    detail: str
    style: str
    wants_reason: bool = False
    denies: bool = False
    own_label: str = ""

    @property
    def is_danger(self) -> bool:
        return self.style == Style.DANGER


@dataclass(frozen=True)
class ActionFacts:
    """The exact action, and the binding sent with an answer."""

    operation: str
    headline: tuple[WordingPart, ...]
    reversible: bool | None
    rows: tuple[CallRow, ...]
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
class EarlierGate:
    """A gate of the same session decided before this one was raised."""

    number: int
    prompt: str
    answer: str
    by: str
    text: str


@dataclass(frozen=True)
class AskFacts:
    """Everything the card of an open ask shows."""

    id: int
    session_id: int
    kind: str
    agent_slug: str
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
    requested: tuple[tuple[str, str], ...]
    added: tuple[tuple[str, str], ...]
    rules: RuleFacts
    changes: ChangeFacts | None
    earlier: tuple[EarlierGate, ...] = ()
    fields: tuple[EditField, ...] = ()
    imported: bool = False

    @property
    def wants_reason(self) -> bool:
        return any(option.wants_reason for option in self.options)

    @property
    def is_list(self) -> bool:
        """Whether the answer is chosen from a list instead of by a button per option."""
        return len(self.options) > MOST_BUTTONS

    @property
    def has_details(self) -> bool:
        return any(option.detail for option in self.options)

    @property
    def is_approval(self) -> bool:
        return self.kind == AskKind.APPROVAL

    @property
    def takes_words(self) -> bool:
        """Whether a note can accompany the chosen option, such as a reason to reject."""
        return self.is_approval and bool(self.options) and not self.free_text

    def option(self, key: str) -> OptionFacts | None:
        return next((option for option in self.options if option.key == key), None)


def with_past(asks: QuerySet[Ask]) -> QuerySet[Ask]:
    """Attach each card's history: one more query for any number of asks.

    It consists of the ask that each one replaced, whose action is shown struck out, the session's
    last decided gates, and the size of the team. `with_votes` attaches the votes.
    """
    owners = Agent.owners.through.objects.filter(agent=OuterRef("agent")).values("agent")
    team = Subquery(owners.annotate(size=Count("pk")).values("size"))  # type: ignore[misc]
    decided = Gate.objects.filter(
        ask__verdict__isnull=False, number__gte=F("session__gate_count") - SHOWN_GATES
    )
    gates = decided.select_related("ask__verdict__decided_by").order_by("number")
    related = ("supersedes__gate", "agent", "session", "run", "gate", "claimed_by", "answered_by")
    return (
        asks.annotate(team=team)
        .select_related(*related)
        .prefetch_related(Prefetch("session__gates", gates, to_attr="decided_gates"))
    )


def facts_of(ask: Ask) -> AskFacts:
    """Read an ask loaded with `asks.queue.queries.with_card_facts`."""
    gate, rules = gate_facts(ask), rules_of(ask)
    context = key_order.in_order(ask.context, ask.context_order)
    requested = _requested(context)
    return AskFacts(
        id=ask.pk,
        session_id=ask.session_id,
        kind=ask.kind,
        agent_slug=ask.agent.slug,
        run_number=ask.run.number,
        gate_number=gate.number if gate else None,
        opened_at=ask.opened_at,
        age=age(ask.opened_at),
        expires_at=ask.expires_at,
        prompt_html=ask.prompt_html,
        is_long=gate is not None or _is_long(ask.prompt),
        options=options_of(ask, rules),
        free_text=ask.free_text,
        money_critical=ask.money_critical,
        action=_action(ask, gate) if gate else None,
        requested=_in_words(requested),
        added=_in_words(
            {
                name: value
                for name, value in context.items()
                if name not in DOORS_OWN and (name != "request" or not requested)
            }
        ),
        earlier=_earlier(ask, gate) if gate else (),
        fields=proposals.fields_of(ask, gate),
        rules=rules,
        changes=changes_of(ask),
        imported=ask.imported,
    )


def options_of(ask: Ask, rules: RuleFacts, params: Json = None) -> tuple[OptionFacts, ...]:
    """Return the offered answers in the words of their buttons, for these params or the bound ones."""
    kept, gate, offered = terms.terms_of(ask), gate_facts(ask), list(ask.options.all())
    if params is None and gate is not None:
        params = editing.asked_params(gate)
    return tuple(_option(option, offered, kept, rules, params) for option in offered)


def _option(
    option: Option, offered: list[Option], kept: AskTerms, rules: RuleFacts, params: Json
) -> OptionFacts:
    label = headline.label_of(option, offered, kept.words, params)
    style = terms.style_of(option, kept)
    return OptionFacts(
        option.key,
        label,
        headline.detail_of(option, label),
        style,
        rules.wants_reason(style, option.meaning),
        denies=option.meaning == Meaning.DENY,
        own_label=option.label,
    )


def _requested(context: dict[str, object]) -> dict[str, object]:
    """Return the run's task if its protocol reports it: ``request`` in the ask's context."""
    found = context.get("request")
    return found if isinstance(found, dict) else {}


def _in_words(values: dict[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((name, write_value(value).rstrip("\n")) for name, value in values.items())


def gate_facts(ask: Ask) -> Gate | None:
    try:
        return ask.gate
    except ObjectDoesNotExist:
        return None


def _gate_before(ask: Ask) -> Gate | None:
    """Return the gate of the ask that this one replaced."""
    try:
        return gate_facts(ask.supersedes)
    except ObjectDoesNotExist:
        return None


def _is_long(prompt: str) -> bool:
    return len(prompt.split("\n\n", 1)[0]) > TITLE_LENGTH


def _earlier(ask: Ask, gate: Gate) -> tuple[EarlierGate, ...]:
    decided: list[Gate] = getattr(ask.session, "decided_gates", [])
    return tuple(
        EarlierGate(
            one.number,
            one.ask.prompt.partition("\n")[0],
            one.ask.decision.option_label,
            one.ask.decision.decided_by.get_username(),
            one.ask.decision.text,
        )
        for one in decided
        if one.number < gate.number
    )


def _action(ask: Ask, gate: Gate) -> ActionFacts:
    """Return the action as the card shows it; a value equal to the question is left out."""
    params, before, said = editing.asked_params(gate), _gate_before(ask), ask.prompt
    words = terms.terms_of(ask).words
    found = rows_of(params, editing.asked_params(before)) if before else rows_of(params)
    rows = tuple(row for row in found if row.value != said)
    values = [row for row in rows if not row.is_group]
    return ActionFacts(
        operation=gate.operation,
        headline=headline.headline_of(words, gate.operation, params, said=said),
        reversible=words.reversible,
        rows=rows,
        changed=len({row.path for row in values if row.sign}),
        total=len({row.path for row in values}),
        action_hash=gate.action_hash,
        policy_version=gate.policy_version,
        run_version=gate.run_version,
    )
