from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models import Agent


class Policy(models.Model):
    """One version of an agent's policy. It never changes. Version 0 is built in and has no row.

    ``rules`` is JSON in the format of ``asks.policies.rules.Document``.
    """

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="policies")
    version = models.PositiveIntegerField()
    rules = models.JSONField()
    why = models.CharField(max_length=1000, help_text="Why it is changed.")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="policies"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "policies"
        ordering = ("agent", "-version")
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "version"], name="policy_versions_are_numbered"
            ),
            models.CheckConstraint(
                condition=Q(version__gte=1) & ~Q(why=""), name="a_policy_has_a_reason"
            ),
        ]
        triggers = append_only_triggers("policies")

    def __str__(self) -> str:
        return f"{self.agent} v{self.version}"
