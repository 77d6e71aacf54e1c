"""Who may see and who may answer an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from agents.models import Agent, Session
from asks.models import Ask

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def agents_of(person: AbstractBaseUser) -> QuerySet[Agent]:
    return Agent.objects.filter(owners=person.pk)


def sessions_of(person: AbstractBaseUser) -> QuerySet[Session]:
    return Session.objects.filter(agent__in=agents_of(person))


def asks_of(person: AbstractBaseUser) -> QuerySet[Ask]:
    """The asks a person may see: those of the agents they own."""
    return Ask.objects.filter(agent__in=agents_of(person))


def may_see(person: User | AbstractBaseUser, ask: Ask) -> bool:
    return person.is_active and ask.agent.owners.filter(pk=person.pk).exists()


def may_answer(person: AbstractBaseUser, ask: Ask) -> bool:
    """Any owner of the agent may answer, and nobody else."""
    return may_see(person, ask)
