from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models import Run, Session
from asks.models.ask import Ask


class Grant(models.Model):
    """The right to run exactly one action once.

    An approval creates a grant. So does a policy that allows the action without asking; that grant has
    no ``ask``. ``files`` is {path: digest} of the files that the action names, at the time of the
    approval; ``action_hash`` covers them.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="grants")
    ask = models.OneToOneField(
        Ask, on_delete=models.PROTECT, null=True, blank=True, related_name="grant"
    )
    request_key = models.CharField(max_length=200)
    operation = models.CharField(max_length=200)
    params = models.JSONField()
    files = models.JSONField(default=dict, blank=True)
    action_hash = models.CharField(max_length=80)
    policy_version = models.PositiveIntegerField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=["session", "action_hash"], name="grants_by_action")]
        triggers = append_only_triggers("grants")

    def __str__(self) -> str:
        return self.operation


class Redemption(models.Model):
    """The use of a grant, recorded before the action runs. A grant has at most one."""

    grant = models.OneToOneField(Grant, on_delete=models.PROTECT, related_name="redemption")
    run = models.ForeignKey(
        Run, on_delete=models.PROTECT, null=True, blank=True, related_name="redemptions"
    )
    epoch = models.PositiveIntegerField(default=0)
    redeemed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        triggers = append_only_triggers("redemptions")

    def __str__(self) -> str:
        return f"redemption of {self.grant_id}"


class EffectEnd(models.TextChoices):
    DONE = "done", "It happened"
    FAILED = "failed", "It did not happen"
    UNKNOWN = "unknown", "It may or may not have happened"


class Effect(models.Model):
    """The outcome of an action that a grant allowed. It is missing until the outcome is reported."""

    redemption = models.OneToOneField(Redemption, on_delete=models.PROTECT, related_name="effect")
    end = models.CharField(max_length=8, choices=EffectEnd.choices)
    detail = models.CharField(max_length=2000, blank=True)
    asked = models.ForeignKey(
        Ask,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="about_effects",
        help_text="The ask by which a person is asked what happened.",
    )
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(end="unknown") ^ Q(asked=None), name="what_is_unknown_is_asked"
            ),
        ]
        triggers = append_only_triggers("effects")

    def __str__(self) -> str:
        return self.get_end_display()
