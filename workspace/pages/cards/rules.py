"""The policy's rules for an ask, as sentences for its card."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from asks.actions import binding, difference
from asks.actions.difference import Difference, Piece, ValueChange
from asks.lifecycle import Meaning
from asks.models import Ask, Vote
from asks.policies import terms
from asks.policies.terms import AskTerms
from workspace.pages.cards.call_rows import value_in_words


@dataclass(frozen=True)
class RuleFacts:
    """The rules of one ask; an empty text means that the rule does not apply."""

    quorum: str = ""
    votes: tuple[str, ...] = ()
    four_eyes: str = ""
    group: str = ""
    confidential: bool = False
    proof: str = ""
    deadline: str = ""
    claimed_by: str = ""
    claimed_at: datetime | None = None
    may_be_claimed: bool = True
    extensions_left: int = 0
    reason_for: frozenset[str] = frozenset()
    files: tuple[tuple[str, str], ...] = ()
    escalation: str = ""
    escalates_at: datetime | None = None
    version: int = 0

    def wants_reason(self, style: str, meaning: str) -> bool:
        return bool(self.reason_for & {style, meaning})


def with_votes(asks: Iterable[Ask]) -> list[Ask]:
    """Prefetch the votes of asks: one query, or none if nobody votes."""
    found = list(asks)
    voted_on = [ask for ask in found if terms.terms_of(ask).many_decide]
    if voted_on:
        votes = Vote.objects.select_related("voter", "principal").order_by("pk")
        prefetch_related_objects(voted_on, Prefetch("votes", votes))
    return found


def rules_of(ask: Ask) -> RuleFacts:
    """Read the rules from an ask loaded `with_votes`, with its claim and group."""
    kept, gate = terms.terms_of(ask), binding.gate_of(ask)
    return RuleFacts(
        quorum=_quorum(kept) if kept.many_decide else "",
        votes=tuple(_voted(vote) for vote in ask.votes.all()) if kept.many_decide else (),
        four_eyes=_four_eyes(kept),
        group=ask.answered_by.name if ask.answered_by else "",
        confidential=ask.confidential,
        proof=_proof(kept),
        deadline=_deadline(ask, kept),
        claimed_by=ask.claimed_by.get_username() if ask.claimed_by else "",
        claimed_at=ask.claimed_at,
        may_be_claimed=_may_be_claimed(ask, kept),
        extensions_left=max(kept.extensions - ask.extended, 0) if kept.extend_by else 0,
        reason_for=frozenset(kept.reason_for),
        files=tuple(sorted(gate.files.items())) if gate else (),
        escalation=kept.escalate_to,
        escalates_at=None if ask.escalated_to_id else kept.escalate_at,
        version=ask.card_version,
    )


def _may_be_claimed(ask: Ask, kept: AskTerms) -> bool:
    """Whether a team answers and one member decides."""
    team = ask.answered_by is not None or (getattr(ask, "team", None) or 1) > 1
    return team and not kept.many_decide and not ask.money_critical


def _quorum(kept: AskTerms) -> str:
    quorum = kept.quorum
    of = quorum.of or kept.voters
    rest = (
        _("The first rejection decides.")
        if quorum.rejection == "first_decides"
        else _("All {voters} must vote first.").format(voters=of)
    )
    count = _("{approvals} of {voters} must approve.")
    return f"{count.format(approvals=quorum.approvals, voters=of)} {rest}"


def _voted(vote: Vote) -> str:
    name, principal = vote.voter.get_username(), vote.principal.get_username()
    who = name
    if name != principal:
        who = _("{name} for {principal}").format(name=name, principal=principal)
    denied = vote.meaning == Meaning.DENY
    sentence = _("{who} rejected: {option}") if denied else _("{who} voted: {option}")
    return sentence.format(who=who, option=vote.option_label)


def _four_eyes(kept: AskTerms) -> str:
    names = _(" and ").join(kept.started_for)
    if kept.four_eyes == "kept":
        reason = _("Started for {names}, so somebody else must answer (four eyes).")
        return reason.format(names=names)
    if kept.four_eyes == "waived":
        reason = _(
            "Started for {names}, and nobody else can answer: policy version {policy} "
            "waives the second pair of eyes. That is recorded."
        )
        return reason.format(names=names, policy=kept.policy)
    return ""


def _proof(kept: AskTerms) -> str:
    minutes = kept.reauthenticate_within
    if not minutes:
        return ""
    rule = ngettext(
        "You must have signed in within the last {count} minute.",
        "You must have signed in within the last {count} minutes.",
        minutes,
    )
    return rule.format(count=minutes)


def _deadline(ask: Ask, kept: AskTerms) -> str:
    """Return the deadline in the time zones whose hours count, at most three."""
    if ask.expires_at is None:
        return ""
    zones = list(dict.fromkeys(hours.zone for hours in kept.calendars))[:3]
    return ", ".join(
        _("{moment} in {zone}").format(
            moment=f"{ask.expires_at.astimezone(ZoneInfo(zone)):%a %-d %b %H:%M}",
            zone=zone.replace("_", " "),
        )
        for zone in zones
    )


@dataclass(frozen=True)
class ChangeFacts:
    """The differences from the ask that this one replaces."""

    prompt: tuple[Piece, ...]
    values: tuple[tuple[str, str, str], ...]
    policy: str
    whys: tuple[str, ...]
    run: str


def changes_of(ask: Ask) -> ChangeFacts | None:
    """Compare an ask with the one it replaces; None without one or without a difference."""
    before = getattr(ask, "supersedes", None)
    found = difference.compare_asks(before, ask) if before is not None else Difference()
    if not found:
        return None
    return ChangeFacts(
        prompt=found.prompt,
        values=(*_operation(found), *(_change(one) for one in _to_list(found))),
        policy=_("policy version {before} → {now}").format(**_both(found.policy))
        if found.policy
        else "",
        whys=found.policy_whys,
        run=_("run {before} → {now}").format(**_both(found.run)) if found.run else "",
    )


def _both(change: tuple[object, object]) -> dict[str, object]:
    return dict(zip(("before", "now"), change, strict=True))


def _to_list(found: Difference) -> tuple[ValueChange, ...]:
    """Return nested values; the card shows top-level ones with the action."""
    nested = tuple(one for one in found.params if set(one.path) & {".", "["})
    return (*nested, *found.files, *found.rules)


def _operation(found: Difference) -> tuple[tuple[str, str, str], ...]:
    return ((_("operation"), *found.operation),) if found.operation else ()


def _change(one: ValueChange) -> tuple[str, str, str]:
    before = "" if one.new else value_in_words(one.before)
    now = "" if one.gone else value_in_words(one.now)
    return one.path, before, now
