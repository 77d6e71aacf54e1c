"""Delegation: let somebody else answer in your name, for a period and a reason."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from agents import actors
from agents.db.expressions import database_now
from agents.events import notify
from agents.models import Agent
from agents.text.storable import is_blank, is_storable
from asks.ledger import chain
from asks.models import Delegation

LONGEST = timedelta(days=366)
MAX_REASON = 1000


@transaction.atomic
def create_delegation(
    *,
    by: AbstractBaseUser,
    to: User,
    ends_at: datetime,
    reason: str,
    starts_at: datetime | None = None,
    agent: Agent | None = None,
) -> Delegation:
    """Let ``to`` answer in the name of ``by``. Raise ValidationError with a message per field.

    It covers the asks that ``by`` may answer directly. A delegation cannot be passed on.
    """
    begins = starts_at or database_now()
    _check(by, to, begins, ends_at, reason)
    made = Delegation.objects.create(
        delegator_id=by.pk,
        delegate=to,
        agent=agent,
        starts_at=begins,
        ends_at=ends_at,
        reason=reason.strip(),
    )
    _record("delegated", made, by)
    return made


@transaction.atomic
def revoke_delegation(*, delegation_id: int, by: AbstractBaseUser) -> bool:
    """End a delegation at once, as either of the two people. False if it has ended already."""
    delegation = Delegation.objects.select_for_update().filter(pk=delegation_id).first()
    if delegation is None or by.pk not in (delegation.delegator_id, delegation.delegate_id):
        return False
    ended = Delegation.objects.filter(pk=delegation.pk, revoked_at=None, ends_at__gt=Now())
    if not ended.update(revoked_at=Now()):
        return False
    _record("delegation_revoked", delegation, by)
    return True


def delegations_given_by(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """Return a person's delegations to others, present and future, newest first."""
    return _unended().filter(delegator=person.pk).select_related("delegate", "agent")


def delegations_received_by(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """Return the delegations to a person, present and future, newest first."""
    return _unended().filter(delegate=person.pk).select_related("delegator", "agent")


def _unended() -> QuerySet[Delegation]:
    return Delegation.objects.filter(revoked_at=None, ends_at__gt=Now()).order_by("-pk")


def _check(
    by: AbstractBaseUser, to: User, starts_at: datetime, ends_at: datetime, reason: str
) -> None:
    if to.pk == by.pk or not to.is_active:
        raise ValidationError({"to": _("Name someone else who can sign in.")})
    if ends_at <= max(starts_at, database_now()):
        raise ValidationError({"ends_at": _("It must end after it starts, and in the future.")})
    if ends_at - starts_at > LONGEST:
        raise ValidationError({"ends_at": _("It can last a year at most.")})
    if is_blank(reason) or not is_storable(reason) or len(reason) > MAX_REASON:
        raise ValidationError(
            {"reason": _("Give a reason of up to {most} characters.").format(most=MAX_REASON)}
        )


def _record(kind: str, made: Delegation, by: AbstractBaseUser) -> None:
    names = {
        "from": made.delegator.get_username(),
        "to": made.delegate.get_username(),
        "agent": made.agent.slug if made.agent else None,
    }
    chain.append_row(kind, made.pk, names=names, actor=actors.human(by))
    notify.notify_rights_changed(made.delegate_id)
    notify.notify_queue_changed(made.delegate_id)
