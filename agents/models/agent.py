from __future__ import annotations

from django.contrib.auth.models import User
from django.core.validators import RegexValidator
from django.db import models

from agents.lifecycle import AgentState

slug_is_plain = RegexValidator(
    r"\A[a-z0-9][a-z0-9-]{0,62}\Z", "Use lower-case letters, digits and hyphens, 63 at most."
)


class Agent(models.Model):
    """An agent: its mission and contract, its runtime, and the people who own it."""

    slug = models.CharField(max_length=63, unique=True, validators=[slug_is_plain])
    name = models.CharField(max_length=120)
    title = models.CharField(max_length=200, blank=True, help_text="What it does, in a line.")
    mission = models.TextField(blank=True, help_text="What this agent is to achieve.")
    contract = models.TextField(blank=True, help_text="How it works and what it must ask about.")
    runtime = models.CharField(max_length=32, help_text="What runs a turn of it.")
    settings = models.JSONField(default=dict, blank=True, help_text="The runtime's own settings.")
    wake_policy = models.JSONField(default=dict, blank=True, help_text="When it wakes by itself.")
    lane = models.CharField(
        max_length=63, blank=True, help_text="Agents of one lane share a rate limit."
    )
    lifecycle = models.CharField(
        max_length=16, choices=AgentState.choices, default=AgentState.DRAFT
    )
    owners = models.ManyToManyField(User, related_name="agents")
    version = models.PositiveIntegerField(
        default=1, help_text="Counts its edits, so that two at once are noticed."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class Lane(models.Model):
    """A limit that several agents share, such as a vendor's quota."""

    name = models.CharField(max_length=63, unique=True)
    blocked_until = models.DateTimeField()
    reason = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
