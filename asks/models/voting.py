from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from asks.lifecycle import Meaning
from asks.models.ask import Ask, Option


class StandingVotes(models.Manager["Vote"]):
    """The votes that count: those that nobody took back."""

    def get_queryset(self) -> models.QuerySet[Vote]:
        return super().get_queryset().filter(retraction=None)


class Vote(models.Model):
    """One person's vote on an ask that several people decide. It never changes.

    ``principal`` is the person whose vote counts: the voter, or the person who delegated it to them.
    Each principal counts once. The ask still has a single verdict. The vote that decided can be taken
    back with the verdict: ``every`` includes such votes, ``objects`` does not. ``round`` counts the
    verdicts on the ask that had been taken back before the vote.
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
    round = models.PositiveSmallIntegerField(default=0, db_default=0)

    objects = StandingVotes()
    every = models.Manager["Vote"]()

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["ask", "voter", "round"], name="a_person_votes_once"),
            models.UniqueConstraint(
                fields=["ask", "principal", "round"], name="a_name_counts_once"
            ),
        ]
        triggers = [
            *append_only_triggers("votes"),
            pgtrigger.Trigger(
                name="votes_follow_retractions",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__round__gt=0),
                func="""
                    IF EXISTS (
                        SELECT FROM asks_vote earlier WHERE earlier.ask_id = NEW.ask_id
                        AND (earlier.voter_id = NEW.voter_id
                            OR earlier.principal_id = NEW.principal_id)
                        AND NOT EXISTS (
                            SELECT FROM asks_retraction
                            WHERE asks_retraction.vote_id = earlier.id))
                    THEN
                        RAISE unique_violation USING MESSAGE = 'A person votes once.';
                    END IF;
                    RETURN NEW;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.voter}: {self.option_label}"
