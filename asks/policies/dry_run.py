"""Apply a proposed policy to past asks and allowed actions, and report what would change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from agents.models import Agent
from asks import asking_again
from asks.actions import binding
from asks.drafts import ActionDraft, AskDraft
from asks.lifecycle import Meaning
from asks.models import Ask, Gate, Grant
from asks.policies.rules import Document, Terms
from asks.policies.versions import (
    PolicyInForce,
    Ruling,
    effective_verdicts,
    judge_draft,
    policy_in_force,
)

MOST = 1000


@dataclass(frozen=True)
class Changed:
    """A past ask, or an action allowed without asking, that the proposed policy treats differently."""

    what: str
    operation: str
    ask_id: int | None
    changes: tuple[str, ...]


def dry_run(agent: Agent, document: Document) -> list[Changed]:
    """Compare a proposed policy with the policy in force. Return the changes, newest first."""
    now, then = policy_in_force(agent.pk), PolicyInForce(-1, document)
    compared = [*_of_asks(agent, now, then), *_of_allowed(agent, now, then)]
    return [changed for changed in compared if changed.changes]


def _of_asks(agent: Agent, now: PolicyInForce, then: PolicyInForce) -> Iterator[Changed]:
    asks = Ask.objects.filter(agent=agent).select_related("gate").prefetch_related("options")
    for ask in asks.order_by("-pk")[:MOST]:
        draft, gate = asking_again.draft_from(ask), binding.gate_of(ask)
        before, after = (_judged(policy, draft, gate) for policy in (now, then))
        operation = gate.operation if gate else _("a question")
        operation = _("(confidential)") if ask.confidential else operation
        yield Changed(
            _("ask {id}").format(id=ask.pk), operation, ask.pk, tuple(_differences(before, after))
        )


def _of_allowed(agent: Agent, now: PolicyInForce, then: PolicyInForce) -> Iterator[Changed]:
    """Yield the actions that a policy allowed. For a ``once`` rule, assume an earlier approval."""
    allowed: QuerySet[Grant] = Grant.objects.filter(session__agent=agent, ask=None)
    for grant in allowed.order_by("-pk")[:MOST]:
        action = ActionDraft(grant.operation, grant.params)
        draft = AskDraft(request_key=grant.request_key, prompt="-", action=action)
        before, after = (
            judge_draft(policy, draft, lambda _operation: True) for policy in (now, then)
        )
        what = _("allowed {id}").format(id=grant.pk)
        yield Changed(what, grant.operation, None, tuple(_differences(before, after)))


def _judged(policy: PolicyInForce, draft: AskDraft, gate: Gate | None) -> Ruling:
    def approved_before(operation: str) -> bool:
        earlier = effective_verdicts().filter(
            ask__gate__session=gate.session_id if gate else None,
            ask__gate__number__lt=gate.number if gate else 0,
            ask__gate__operation=operation,
            meaning=Meaning.APPROVE,
        )
        return earlier.exists()

    return judge_draft(policy, draft, approved_before)


def _differences(before: Ruling, after: Ruling) -> Iterator[str]:
    if before.asks != after.asks:
        yield f"{_asking(before)} → {_asking(after)} ({after.why})"
    if before.money_critical != after.money_critical:
        yield _("money-critical") if after.money_critical else _("no longer money-critical")
    if _is_dangerous(before) != _is_dangerous(after):
        yield _("destructive") if _is_dangerous(after) else _("no longer destructive")
    for name in Terms.model_fields:
        was, now = _words(before.terms, name), _words(after.terms, name)
        if was != now and after.asks:
            yield f"{name.replace('_', ' ')}: {was} → {now}"


def _is_dangerous(ruling: Ruling) -> bool:
    return ruling.rule is not None and bool(ruling.rule.danger)


def _asking(ruling: Ruling) -> str:
    return _("a person is asked") if ruling.asks else _("nobody is asked")


def _words(terms: Terms, name: str) -> str:
    value = terms.model_dump(mode="json", exclude_none=True, exclude_defaults=True).get(name)
    return _("not set") if value is None else str(value)
