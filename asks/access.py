"""Who may see and who may answer an ask."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet

from agents.models import Agent, Session
from asks.models import Ask


def agents_of(person: AbstractBaseUser) -> QuerySet[Agent]:
    """The agents a person owns. ``in`` finds nothing for nobody; ``=`` would find the ownerless."""
    return Agent.objects.filter(owners__in=[person.pk])


def sessions_of(person: AbstractBaseUser) -> QuerySet[Session]:
    return Session.objects.filter(agent__in=agents_of(person))


def asks_of(person: AbstractBaseUser) -> QuerySet[Ask]:
    """The asks a person may see: those of the agents they own."""
    return Ask.objects.filter(agent__in=agents_of(person))


def may_see(person: AbstractBaseUser, ask: Ask) -> bool:
    """Whether a person is an owner now, whatever was known of them before."""
    return ask.agent.owners.filter(pk=person.pk, is_active=True).exists()


def may_answer(person: AbstractBaseUser, ask: Ask) -> bool:
    """Any owner of the agent may answer, and nobody else."""
    return may_see(person, ask)
