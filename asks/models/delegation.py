from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agents.models import Agent


class Delegation(models.Model):
    """The right of one person to answer for another, for a limited time and with a reason.

    It covers one agent, or every agent whose asks the delegator may answer. The delegate cannot pass
    it on. A delegation never changes, but it can be revoked.
    """

    delegator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="delegated"
    )
    delegate = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answers_for"
    )
    agent = models.ForeignKey(
        Agent, on_delete=models.PROTECT, null=True, blank=True, related_name="delegations"
    )
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.CharField(max_length=1000)
    created_at = models.DateTimeField(db_default=Now())
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="a_delegation_ends_after_it_starts"
            ),
            models.CheckConstraint(
                condition=~Q(delegator=F("delegate")), name="nobody_delegates_to_themselves"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a_delegation_has_a_reason"),
        ]
        indexes = [
            models.Index(
                fields=["delegate", "ends_at"],
                condition=Q(revoked_at=None),
                name="delegations_that_stand",
            ),
        ]
        triggers = [
            pgtrigger.ReadOnly(name="delegations_never_change", exclude=["revoked_at"]),
            pgtrigger.Protect(name="delegations_are_kept", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.delegate} for {self.delegator}"
