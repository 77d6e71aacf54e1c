"""Somebody lets somebody else answer in their name, from and until a time, for a reason."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

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
    """Let somebody answer in one's own name. Raises ValidationError per field.

    Only for what one may answer oneself: what was delegated to one is not passed on.
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
    _write_down("delegated", made, by)
    return made


@transaction.atomic
def revoke_delegation(*, delegation_id: int, by: AbstractBaseUser) -> bool:
    """End a delegation at once, as either of the two. False when it has ended already."""
    found = Delegation.objects.select_for_update().filter(pk=delegation_id).first()
    if found is None or by.pk not in (found.delegator_id, found.delegate_id):
        return False
    ended = Delegation.objects.filter(pk=found.pk, revoked_at=None, ends_at__gt=Now())
    if not ended.update(revoked_at=Now()):
        return False
    _write_down("delegation_revoked", found, by)
    return True


def delegations_given_by(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """What a person has delegated and what stands or will stand, newest first."""
    return _standing().filter(delegator=person.pk).select_related("delegate", "agent")


def delegations_received_by(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """In whose names a person answers, now or later, newest first."""
    return _standing().filter(delegate=person.pk).select_related("delegator", "agent")


def _standing() -> QuerySet[Delegation]:
    return Delegation.objects.filter(revoked_at=None, ends_at__gt=Now()).order_by("-pk")


def _check(
    by: AbstractBaseUser, to: User, starts_at: datetime, ends_at: datetime, reason: str
) -> None:
    if to.pk == by.pk or not to.is_active:
        raise ValidationError({"to": "Name somebody else who can sign in."})
    if ends_at <= max(starts_at, database_now()):
        raise ValidationError({"ends_at": "It must end later than it starts, and later than now."})
    if ends_at - starts_at > LONGEST:
        raise ValidationError({"ends_at": "A year is the longest."})
    if is_blank(reason) or not is_storable(reason) or len(reason) > MAX_REASON:
        raise ValidationError({"reason": f"Say in up to {MAX_REASON} characters why."})


def _write_down(kind: str, made: Delegation, by: AbstractBaseUser) -> None:
    names = {
        "from": made.delegator.get_username(),
        "to": made.delegate.get_username(),
        "agent": made.agent.slug if made.agent else None,
    }
    chain.append_row(kind, made.pk, names=names, actor=actors.human(by))
    notify.notify_rights_changed(made.delegate_id)
    notify.notify_queue_changed(made.delegate_id)
