"""Take back an approval that was not used yet. It always succeeds before the action has begun."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from agents.db.expressions import database_now
from agents.locking import lock_session
from asks import access, refusals
from asks.actions import grant_checks, grant_ends
from asks.answers import Answer
from asks.lifecycle import Reason
from asks.models import Ask, Grant, GrantEnd, GrantState
from asks.refusals import Refused, number_of


def grants_of(person: AbstractBaseUser) -> QuerySet[Grant]:
    """Return the grants that a person may take back: of their agents, and of asks that they see.

    An owner may take back what others approved, even without being allowed to read it.
    """
    mine = Q(session__in=access.sessions_of(person))
    return Grant.objects.filter(mine | Q(ask__in=access.asks_of(person)))


def live_grants(grants: QuerySet[Grant]) -> list[Grant]:
    """Return those of some grants that are good now, oldest first."""
    live = grants.filter(state=GrantState.MINTED).select_related("session__agent", "run", "ask")
    found = list(live.order_by("pk"))
    now = database_now() if found else None
    return [grant for grant in found if now and grant_checks.find_end(grant, at=now) is None]


@transaction.atomic
def take_back(*, grant_id: object, by: AbstractBaseUser, via: str = "page") -> Grant | Refused:
    """Take back an approval before it is used. Repeating it returns the grant unchanged.

    Every owner of the agent and everybody who may see the ask may do it, because it can only make
    less happen. Refused once the action has begun or the grant has lapsed.
    """
    attempt = Answer(by=by, via=via)
    number = number_of(grant_id)
    grant = Grant.objects.filter(pk=number or 0).first()
    if grant is None:
        return refusals.record_refusal(refusals.not_found(), attempt, ask=None, ask_ref=grant_id)
    session = lock_session(grant.session_id)
    grant = grants_of(by).select_related("ask", "run").filter(pk=grant.pk).first()
    if grant is None:
        asked = Ask.objects.filter(grant=number).first()
        return refusals.record_refusal(refusals.not_found(), attempt, ask=asked, ask_ref=number)
    if grant.state == GrantState.MINTED:
        grant_ends.withdraw_grant(session, grant, by=by, why=GrantEnd.TAKEN_BACK)
    if grant.state == GrantState.WITHDRAWN:
        return grant
    return _refuse(grant, attempt)


def _refuse(grant: Grant, attempt: Answer) -> Refused:
    why = {
        GrantState.TAKEN: _("It has begun already: the approval was taken."),
        GrantState.USED: _("It was used already."),
        GrantState.LAPSED: _("It had lapsed already, without being used."),
    }[GrantState(grant.state)]
    refused = Refused(Reason.CLOSED, why, grant.ask)
    return refusals.record_refusal(refused, attempt, ask=grant.ask, ask_ref=grant.pk)
