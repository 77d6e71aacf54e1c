from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from asks.lifecycle import Meaning
from asks.models.ask import Ask, Option


class Vote(models.Model):
    """One person's vote on an ask that several people decide. It never changes.

    ``principal`` is the person whose vote counts: the voter, or the person who delegated it to them.
    Each principal counts once. The ask still has a single verdict.
    """

    ask = models.ForeignKey(Ask, on_delete=models.PROTECT, related_name="votes")
    voter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="votes"
    )
    principal = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="votes_in_my_name"
    )
    option = models.ForeignKey(Option, on_delete=models.PROTECT)
    option_label = models.CharField(max_length=4000)
    text = models.TextField(blank=True)
    meaning = models.CharField(max_length=16, choices=Meaning.choices)
    echo = models.JSONField(null=True, blank=True)
    via = models.CharField(max_length=16, default="page")
    credential = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="The API key, as key:12."
    )
    cast_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["ask", "voter"], name="a_person_votes_once"),
            models.UniqueConstraint(fields=["ask", "principal"], name="a_name_counts_once"),
        ]
        triggers = append_only_triggers("votes")

    def __str__(self) -> str:
        return f"{self.voter}: {self.option_label}"
