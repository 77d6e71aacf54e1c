"""API keys of programs."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.models import Agent


class Scope(models.TextChoices):
    """What a key may do. Only a person's key may hold ``ask:answer`` or ``agent:edit``."""

    RUN_CREATE = "run:create", "Start runs"
    RUN_READ = "run:read", "Read sessions, runs and asks"
    ASK_CREATE = "ask:create", "Raise asks"
    ASK_ANSWER = "ask:answer", "Answer and withdraw asks"
    AGENT_EDIT = "agent:edit", "Connect and change agents"


class ApiKey(models.Model):
    """A key: its public prefix and the hash of the whole, so that a stolen table is useless.

    With an ``agent`` it reaches only that agent; with a ``person`` it acts as that person, on the
    agents that the person owns. ``last_used_at`` is coarse: it changes once in a few minutes.
    """

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True)
    hash = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    agent = models.ForeignKey(
        Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="api_keys"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="api_keys",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="created_api_keys",
        help_text="Empty when it was made on the command line.",
    )
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name", "pk")
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(revoked_at=None), name="living_keys_have_names"
            ),
            models.CheckConstraint(
                condition=~Q(scopes__contains=["ask:answer"]) | Q(person__isnull=False),
                name="only_a_person_answers",
            ),
            models.CheckConstraint(
                condition=~Q(scopes__contains=["agent:edit"]) | Q(person__isnull=False),
                name="only_a_person_changes_agents",
            ),
            models.CheckConstraint(
                condition=Q(person__isnull=False) | Q(agent__isnull=False),
                name="a_key_belongs_to_someone",
            ),
            models.CheckConstraint(
                condition=Q(scopes__contained_by=[scope.value for scope in Scope]) & ~Q(scopes=[]),
                name="scopes_are_known",
            ),
        ]
        triggers = [
            pgtrigger.ReadOnly(name="keys_never_change", exclude=["last_used_at", "revoked_at"]),
            pgtrigger.Protect(name="keys_are_kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="revoked_is_for_good",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__revoked_at__isnull=False)
                & pgtrigger.Q(old__revoked_at__df=pgtrigger.F("new__revoked_at")),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_an_agents(self) -> bool:
        """Whether the key has no person: such a key never answers."""
        return self.person_id is None
