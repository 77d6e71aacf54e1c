"""Find the policy in force for an agent, add versions of it, and apply it to drafts.

Version 0 is built in: every action needs a person, and any owner answers. Each change is a new
version of the agent's policy. It changes the binding of every open ask, so earlier answers are stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from django.contrib.auth.models import AbstractBaseUser, Group
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from pydantic import ValidationError as ShapeError

from agents import actors
from agents.db.statements import Prepared
from agents.locking import lock_agent
from agents.models import Session
from agents.text.canonical_json import Json
from agents.text.storable import is_blank, is_storable
from asks.actions import grant_ends
from asks.drafts import ActionDraft, AskDraft
from asks.ledger import chain
from asks.lifecycle import Meaning
from asks.models import GrantEnd, GrantState, Policy, Verdict
from asks.policies import conditions
from asks.policies.rules import Document, Rule, Terms

MAX_RULES_BYTES = 64 * 1024


@dataclass(frozen=True)
class PolicyInForce:
    """A policy version and its document."""

    version: int
    document: Document


BUILT_IN = PolicyInForce(0, Document())


@dataclass(frozen=True)
class Ruling:
    """The result of a policy for one draft. If ``asks`` is false, the action is allowed without asking."""

    version: int
    asks: bool
    why: str
    terms: Terms
    document: Document
    rule: Rule | None = None

    @property
    def money_critical(self) -> bool:
        return self.rule is not None and self.rule.money_critical


def version_in_force(agent_id: int) -> int:
    """Return the policy version that an answer is bound to."""
    versions = _VERSION.rows(agent_id)
    return versions[0][0] if versions else 0


def policy_in_force(agent_id: int) -> PolicyInForce:
    """Return the policy in force for an agent."""
    newest = _NEWEST.first(agent_id)
    return PolicyInForce(newest.version, document_of(newest.rules)) if newest else BUILT_IN


_NEWEST = Prepared(lambda pk: Policy.objects.filter(agent=pk).order_by("-version")[:1])
_VERSION = Prepared(
    lambda pk: Policy.objects.filter(agent=pk).order_by("-version").values_list("version")[:1]
)


def document_of(rules: Json) -> Document:
    """Parse stored rules. Raises pydantic's ValidationError if they are not a policy."""
    return _document(json.dumps(rules, sort_keys=True))


@lru_cache(maxsize=500)
def _document(text: str) -> Document:
    return Document.model_validate(json.loads(text))  # noqa: TID251  dumped by document_of


@transaction.atomic
def add_version(*, agent_id: int, rules: Json, why: str, by: AbstractBaseUser) -> Policy:
    """Put a new version in force immediately. Raises ValidationError per field."""
    document = check_rules(rules)
    if is_blank(why) or not is_storable(why) or len(why) > 1000:
        raise ValidationError(
            {"why": _("Say why you change the policy, in at most 1000 characters.")}
        )
    agent = lock_agent(agent_id)
    made = Policy.objects.create(
        agent=agent,
        version=version_in_force(agent_id) + 1,
        rules=document.model_dump(mode="json", exclude_defaults=True),
        why=why.strip(),
        made_by_id=by.pk,
    )
    names: dict[str, str | None] = {"agent": agent.slug, "by": by.get_username()}
    chain.append_row("policy_changed", made.pk, names=names, actor=actors.human(by))
    grant_ends.lapse_grants_of_agent(agent_id, GrantEnd.POLICY, actor=actors.human(by))
    return made


def check_rules(rules: Json) -> Document:
    """Parse and validate submitted rules. Raises ValidationError for the field ``rules``."""
    try:
        if len(json.dumps(rules)) > MAX_RULES_BYTES:
            limit = _("A policy can have at most {most} bytes.").format(most=MAX_RULES_BYTES)
            raise ValidationError({"rules": limit})
        document = document_of(rules)
    except ShapeError as error:
        raise ValidationError({"rules": _in_words(error)}) from error
    except (TypeError, RecursionError) as error:
        raise ValidationError({"rules": _("This is not JSON.")}) from error
    known = Group.objects.filter(name__in=document.groups).values_list("name", flat=True)
    if missing := sorted(document.groups - set(known)):
        absent = _("There is no group {names}.").format(names=", ".join(missing))
        raise ValidationError({"rules": absent})
    return document


def _in_words(error: ShapeError) -> list[str]:
    return [
        f"{'.'.join(str(part) for part in flaw['loc']) or 'policy'}: "
        f"{flaw['msg'].removeprefix('Value error, ')}"
        for flaw in error.errors(include_url=False)
    ]


def ruling_for(session: Session, draft: AskDraft) -> Ruling:
    """Apply the policy in force to a draft of a locked session."""
    policy = policy_in_force(session.agent_id)
    return judge_draft(
        policy, draft, lambda operation: _approved_before(session, operation, policy.version)
    )


def judge_draft(
    policy: PolicyInForce, draft: AskDraft, approved_before: Callable[[str], bool]
) -> Ruling:
    """Apply a policy to a draft. ``approved_before(operation)`` is called only for a ``once`` rule."""
    document = policy.document
    if draft.action is None:
        return Ruling(policy.version, True, _("it is a question"), document.terms, document)
    rule = document.rule_for(draft.action.operation)
    asks, why = _needs_a_person(rule, draft.action, approved_before)
    terms = rule.over(document.terms) if rule else document.terms
    return Ruling(policy.version, asks, why, terms, document, rule)


def _needs_a_person(
    rule: Rule | None, action: ActionDraft, approved_before: Callable[[str], bool]
) -> tuple[bool, str]:
    if rule is None:
        return True, _("no rule matches it")
    name = f"“{rule.operation}”"
    if action.always_asks or action.money_critical or rule.approval == "always":
        return True, _("{rule} always needs an approval").format(rule=name)
    if rule.approval == "never":
        return False, _("{rule} never needs an approval").format(rule=name)
    if rule.approval == "once":
        if approved_before(action.operation):
            return False, _("{rule} was approved in this session before").format(rule=name)
        return True, _("{rule} needs an approval once per session").format(rule=name)
    return _by_condition(rule, action, name)


def _by_condition(rule: Rule, action: ActionDraft, name: str) -> tuple[bool, str]:
    """Apply the condition of a rule. A person is asked if it cannot be evaluated."""
    when = rule.when or ""
    try:
        needed = conditions.condition_holds(when, operation=action.operation, params=action.params)
    except conditions.BadCondition as error:
        why = _("{rule} could not be evaluated: {error}")
        return True, why.format(rule=name, error=error)
    why = _("{rule}: {condition} is true") if needed else _("{rule}: {condition} is not true")
    return needed, why.format(rule=name, condition=when)


def effective_verdicts() -> QuerySet[Verdict]:
    """Return the verdicts that took effect: neither taken back, nor still to be taken back."""
    return Verdict.objects.exclude(window__isnull=False, window__delivered_at=None)


def _approved_before(session: Session, operation: str, version: int) -> bool:
    """Whether a person approved this operation in this session under this policy version.

    An approval that was taken back, or that ended before it was used, does not count.
    """
    return (
        effective_verdicts()
        .filter(
            ask__gate__session=session,
            ask__gate__operation=operation,
            ask__gate__policy_version=version,
            meaning=Meaning.APPROVE,
        )
        .exclude(ask__grant__state__in=(GrantState.LAPSED, GrantState.WITHDRAWN))
        .exists()
    )
