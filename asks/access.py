"""Who may see and who may answer an ask. Every caller checks here and nowhere else.

An ask is answered by the owners of its agent, or by the members of the group that its terms name. The
people it was escalated to may answer too, if the policy allows it, and so may their delegates. Under
four eyes, the person the run was started for is barred, and so is everybody who would answer in that
person's name.
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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.db.expressions import IsAny
from agents.db.statements import Prepared
from agents.models import Agent, Event, Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Delegation, Vote

YOU_STARTED_IT = gettext_noop(
    "This run was started for you, so someone else must answer (four eyes)."
)
THEY_STARTED_IT = gettext_noop(
    "This run was started for the person you would answer for (four eyes)."
)


#: Permissions to view all that a receipt is made of.
AUDITED = tuple(
    f"asks.view_{name}" for name in ("ask", "gate", "ledgerrecord", "option", "refusal", "verdict")
)


@dataclass(frozen=True)
class Rights:
    """A person's rights to an ask: whether they see it, and in whose names they may answer.

    ``names`` are ids of users, the person's own first. ``bar`` is the reason why somebody who could
    otherwise answer may not.
    """

    sees: bool = False
    names: tuple[int, ...] = ()
    bar: str = ""


def agents_of(person: AbstractBaseUser) -> QuerySet[Agent]:
    """Return the agents that a person owns."""
    # An anonymous user has no pk: ``in`` matches nothing, ``=`` would match agents without owners.
    return Agent.objects.filter(owners__in=[person.pk])


def sessions_of(person: AbstractBaseUser) -> QuerySet[Session]:
    return Session.objects.filter(agent__in=agents_of(person))


def readable_until(person: AbstractBaseUser, session_id: int) -> int | None:
    """Return the seq up to which somebody who owns no agent of a session may read its thread.

    That is the newest question of it that they see, because they answer it or did. None if there is
    none. It opens the thread to be read, and no verb.
    """
    asks = asks_of(person).filter(session=session_id).order_by().values_list("pk", flat=True)
    asked = Event.objects.filter(session=session_id, kind="asked", data__ask_id__in=list(asks))
    return asked.order_by("-seq").values_list("seq", flat=True).first()


def asks_of(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the asks a person may see: of their agents, their groups and their delegators.

    A confidential ask is visible only to the people who may answer it.
    """
    open_to_owners = Q(answered_by=None) | Q(confidential=False)
    owned = Q(agent__in=agents_of(person)) & open_to_owners
    return Ask.objects.filter(owned | _of_my_groups(person) | _among(delegations_to(person)))


def is_auditor(person: AbstractBaseUser) -> bool:
    """Whether a person may view in the admin all that a receipt is made of."""
    return isinstance(person, User) and person.is_staff and person.has_perms(AUDITED)


def receipts_of(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the closed asks whose receipts a person may read; an auditor reads those of all agents.

    A confidential ask is as closed to auditors as it is in the admin.
    """
    mine = asks_of(person)
    if is_auditor(person):
        readable = Q(confidential=False) | Q(pk__in=mine.order_by().values("pk"))
        mine = Ask.objects.filter(readable)
    return mine.exclude(status=AskStatus.OPEN)


def asks_for(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the open asks that wait for a person: they may answer and have not voted."""
    own = Q(answered_by=None, agent__in=agents_of(person)) | _of_my_groups(person)
    unbarred = delegations_to(person).exclude(IsAny(F("delegator_id"), OuterRef("barred")))
    voted = Exists(Vote.objects.filter(ask=OuterRef("pk"), voter=person.pk))
    waiting = Ask.objects.filter(
        own | _among(unbarred), status=AskStatus.OPEN, pk__in=_near(person)
    )
    return waiting.exclude(barred__contains=[person.pk or 0]).exclude(voted)


def _near(person: AbstractBaseUser) -> QuerySet[Ask, Any]:
    """Return the ids of all open asks that a person may be able to answer, each branch by an index.

    The exact conditions are then checked for these only, however many asks wait for others.
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
    """Annotate asks that wait for a person with ``by_delegation``: the delegation's id.

    Null for asks that the person answers in their own name.
    """
    own = Q(answered_by=None, agent__in=agents_of(person)) | _of_my_groups(person)
    able = Q(delegator__agents=OuterRef("agent")) | _in_a_group_of_it()
    reach = delegations_to(person).filter(able, Q(agent=None) | Q(agent=OuterRef("agent")))
    first = reach.exclude(IsAny(F("delegator_id"), OuterRef("barred"))).order_by("pk")
    return asks.annotate(
        by_delegation=Case(When(own, then=None), default=Subquery(first.values("pk")[:1]))
    )


def delegations_to(person: AbstractBaseUser) -> QuerySet[Delegation]:
    """Return the delegations to a person that are in force now, by active users."""
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
    """Match the asks that one of the delegators may answer."""
    here = delegations.filter(Q(agent=None) | Q(agent=OuterRef("agent")))
    by_owner = Q(answered_by=None) & Q(Exists(here.filter(delegator__agents=OuterRef("agent"))))
    return by_owner | Q(Exists(here.filter(_in_a_group_of_it())))


def _in_a_group_of_it() -> Q:
    """Match delegators who are in a group that answers the outer ask."""
    return Q(delegator__groups=OuterRef("answered_by")) | Q(
        delegator__groups=OuterRef("escalated_to")
    )


def rights_of(person: AbstractBaseUser, ask: Ask) -> Rights:
    """Return a person's present rights to an ask."""
    if person.pk is None:
        return Rights()
    if _answers_first_hand(person, ask):
        if person.pk in ask.barred:
            return Rights(sees=True, bar=_(YOU_STARTED_IT))
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
        return Rights(sees=True, bar=_(YOU_STARTED_IT))
    free = tuple(name for name in names if name not in ask.barred)
    return Rights(sees=True, names=free, bar="" if free else _(THEY_STARTED_IT))


def _owns(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether an owner sees an ask that a group answers. In all other cases owners answer it."""
    owners = ask.agent.owners.filter(pk=person.pk, is_active=True)
    return ask.answered_by_id is not None and owners.exists()


def people_who_answer(ask: Ask) -> QuerySet[User]:
    """Return the people who decide an ask, without their delegates."""
    people = User.objects.filter(is_active=True)
    group = ask.answered_by_id
    first = Q(agents=ask.agent_id) if group is None else Q(groups=group)
    if ask.escalated_to_id is None:
        return people.filter(first)
    members = User.groups.through.objects.filter(group_id=ask.escalated_to_id)
    return people.filter(first | Q(pk__in=members.values("user_id"))).distinct()


def agents_steered_by(person: AbstractBaseUser) -> QuerySet[Agent]:
    """Return the agents that a person may change: their own, or all with the permission for it."""
    if isinstance(person, User) and person.has_perm("agents.change_agent"):
        return Agent.objects.all()
    return agents_of(person)


def may_rewire(person: AbstractBaseUser) -> bool:
    """Whether a person may decide what runs: an agent can be any command on the worker's machine."""
    return isinstance(person, User) and (
        person.has_perm("agents.add_agent") or person.has_perm("agents.change_agent")
    )


def may_see(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether a person may see an ask now."""
    return rights_of(person, ask).sees


def may_answer(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether a person may answer an ask now, in their own or another name."""
    return bool(rights_of(person, ask).names)
