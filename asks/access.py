"""Who may see and who may answer an ask. Every door asks here, and nowhere else.

An ask is answered by the owners of its agent, or by the members of the group that its terms name; by
those it is escalated to, where the policy lets them; or by somebody one of them has delegated it to,
in their name. Whom the run was started for is barred where four eyes are wanted, and so is everybody
who would answer in that person's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import (
    Case,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Now

from agents.db.expressions import IsAny
from agents.db.statements import Prepared
from agents.models import Agent, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Delegation, Vote

YOU_STARTED_IT = "This run was started for you, so somebody else must answer (four eyes)."
THEY_STARTED_IT = "This run was started for whom you would answer for (four eyes)."


@dataclass(frozen=True)
class Rights:
    """What a person is to an ask: whether they see it, and in whose names they may answer.

    ``names`` are ids of people, the person's own first. ``bar`` says why there are none where there
    otherwise would be.
    """

    sees: bool = False
    names: tuple[int, ...] = ()
    bar: str = ""


def agents_of(person: AbstractBaseUser) -> QuerySet[Agent]:
    """The agents a person owns. ``in`` finds nothing for nobody; ``=`` would find the ownerless."""
    return Agent.objects.filter(owners__in=[person.pk])


def sessions_of(person: AbstractBaseUser) -> QuerySet[Session]:
    return Session.objects.filter(agent__in=agents_of(person))


def asks_of(person: AbstractBaseUser) -> QuerySet[Ask]:
    """The asks a person may see: their agents', their groups', and those delegated to them.

    What is confidential is seen only by those who answer it.
    """
    open_to_owners = Q(answered_by=None) | Q(confidential=False)
    owned = Q(agent__in=agents_of(person)) & open_to_owners
    return Ask.objects.filter(owned | _of_my_groups(person) | _among(delegations_to(person)))


def asks_for(person: AbstractBaseUser) -> QuerySet[Ask]:
    """The open asks that wait on a person: those they may answer and have not voted on."""
    own = Q(answered_by=None, agent__in=agents_of(person)) | _of_my_groups(person)
    unbarred = delegations_to(person).exclude(IsAny(F("delegator_id"), OuterRef("barred")))
    voted = Exists(Vote.objects.filter(ask=OuterRef("pk"), voter=person.pk))
    waiting = Ask.objects.filter(
        own | _among(unbarred), status=AskStatus.OPEN, pk__in=_near(person)
    )
    return waiting.exclude(barred__contains=[person.pk or 0]).exclude(voted)


def _near(person: AbstractBaseUser) -> QuerySet[Ask, Any]:
    """The ids of all open asks that may be a person's to answer: each branch is found by an index.

    What exactly is theirs is then looked at for these only, however many wait on others.
    """
    owners, members = Agent.owners.through.objects, User.groups.through.objects
    names = delegations_to(person).values("delegator")
    waiting = Ask.objects.filter(status=AskStatus.OPEN).order_by().values("pk")
    branches = [
        waiting.filter(agent__in=owners.filter(whose).values("agent_id"))
        for whose in (Q(user=person.pk), Q(user__in=names))
    ]
    for whose, answers in product(
        (Q(user=person.pk), Q(user__in=names)), ("answered_by", "escalated_to")
    ):
        groups = members.filter(whose).values("group_id")
        branches.append(waiting.filter(**{f"{answers}__in": groups}))
    return branches[0].union(*branches[1:])


def in_whose_name(asks: QuerySet[Ask], person: AbstractBaseUser) -> QuerySet[Ask]:
    """Adds ``by_delegation`` to asks that wait on a person: whose name, by its id; null for one's own.

    It costs nothing where nothing is delegated.
    """
    own = Q(answered_by=None, agent__in=agents_of(person)) | _of_my_groups(person)
    able = Q(delegator__agents=OuterRef("agent")) | _in_a_group_of_it()
    reach = delegations_to(person).filter(able, Q(agent=None) | Q(agent=OuterRef("agent")))
    first = reach.exclude(IsAny(F("delegator_id"), OuterRef("barred"))).order_by("pk")
    return asks.annotate(
        by_delegation=Case(When(own, then=None), default=Subquery(first.values("pk")[:1]))
    )


def delegations_to(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """What is delegated to a person at this moment, by people who are still there."""
    return Delegation.objects.filter(
        delegate=person.pk,
        delegate__is_active=True,
        delegator__is_active=True,
        revoked_at=None,
        starts_at__lte=Now(),
        ends_at__gt=Now(),
    )


def _of_my_groups(person: AbstractBaseUser) -> Q:
    mine = User.groups.through.objects.filter(user_id=person.pk).values("group_id")
    return Q(answered_by__in=mine) | Q(escalated_to__in=mine)


def _among(delegations: QuerySet[Delegation]) -> Q:
    """Asks that one of the delegators may answer."""
    here = delegations.filter(Q(agent=None) | Q(agent=OuterRef("agent")))
    by_owner = Q(answered_by=None) & Q(Exists(here.filter(delegator__agents=OuterRef("agent"))))
    return by_owner | Q(Exists(here.filter(_in_a_group_of_it())))


def _in_a_group_of_it() -> Q:
    """Delegators who are in a group that answers the ask around."""
    return Q(delegator__groups=OuterRef("answered_by")) | Q(
        delegator__groups=OuterRef("escalated_to")
    )


def rights_of(person: AbstractBaseUser, ask: Ask) -> Rights:
    """What a person is to an ask now, whatever was known of them before."""
    if person.pk is None:
        return Rights()
    if _answers_first_hand(person, ask):
        if person.pk in ask.barred:
            return Rights(sees=True, bar=YOU_STARTED_IT)
        return Rights(sees=True, names=(person.pk,))
    return _by_delegation(person, ask)


def _answers_first_hand(person: AbstractBaseUser, ask: Ask) -> bool:
    if ask.answered_by_id is None and ask.escalated_to_id is None:
        return bool(_OWNERSHIP.rows(ask.agent_id, person.pk))
    return people_who_answer(ask).filter(pk=person.pk).exists()


#: The usual case of ``people_who_answer`` for one person: an owner of the agent.
_OWNERSHIP = Prepared(
    lambda agent, person: User.objects.filter(is_active=True, agents=agent, pk=person).values_list(
        "pk"
    ),
    of=(int, int),
)


def _by_delegation(person: AbstractBaseUser, ask: Ask) -> Rights:
    reach = delegations_to(person).filter(Q(agent=None) | Q(agent=ask.agent_id))
    able = reach.filter(delegator__in=people_who_answer(ask)).order_by("pk")
    names = list(dict.fromkeys(able.values_list("delegator_id", flat=True)))
    if not names:
        return Rights(sees=_owns(person, ask) and not ask.confidential)
    if person.pk in ask.barred:
        return Rights(sees=True, bar=YOU_STARTED_IT)
    free = tuple(name for name in names if name not in ask.barred)
    return Rights(sees=True, names=free, bar="" if free else THEY_STARTED_IT)


def _owns(person: AbstractBaseUser, ask: Ask) -> bool:
    """Only where a group answers can an owner be somebody who does not."""
    owners = ask.agent.owners.filter(pk=person.pk, is_active=True)
    return ask.answered_by_id is not None and owners.exists()


def people_who_answer(ask: Ask) -> QuerySet[User]:
    """Whose decision it is, not counting whom they have delegated it to."""
    people = User.objects.filter(is_active=True)
    group = ask.answered_by_id
    first = Q(agents=ask.agent_id) if group is None else Q(groups=group)
    if ask.escalated_to_id is None:
        return people.filter(first)
    members = User.groups.through.objects.filter(group_id=ask.escalated_to_id)
    return people.filter(first | Q(pk__in=members.values("user_id"))).distinct()


def may_see(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether a person may look at an ask now."""
    return rights_of(person, ask).sees


def may_answer(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether a person may answer an ask now, in their own name or another's."""
    return bool(rights_of(person, ask).names)
