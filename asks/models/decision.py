from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from asks.lifecycle import Meaning, Reason
from asks.models.ask import Ask, Option

#: PostgreSQL pattern of a visible character: neither white space nor of zero width. The database enforces
#: this much; ``agents.text.storable.is_blank`` rejects more.
VISIBLE = (
    r"[^[:space:]\u0001-\u001f\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)


class Verdict(models.Model):
    """A person's answer to an ask. It never changes.

    An ask has at most one that was not taken back (``Ask.verdict``). ``round`` counts the verdicts on
    the same ask that were taken back before.

    ``option_label`` is the label that was shown and ``echo`` the binding that the answer contained.
    ``on_behalf_of`` is the person who delegated the answer. ``edit`` is set if the call was changed
    before it was approved: {"original": params, "edited": params, "action_hash": of the edited call}.
    """

    ask = models.ForeignKey(Ask, on_delete=models.PROTECT, related_name="verdicts")
    round = models.PositiveSmallIntegerField(default=0, db_default=0)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="verdicts"
    )
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="verdicts_in_my_name",
    )
    option = models.ForeignKey(Option, on_delete=models.PROTECT, null=True, blank=True)
    option_label = models.CharField(max_length=4000, blank=True)
    text = models.TextField(blank=True)
    meaning = models.CharField(max_length=16, choices=Meaning.choices, default=Meaning.ANSWER)
    echo = models.JSONField(null=True, blank=True)
    edit = models.JSONField(null=True, blank=True)
    via = models.CharField(max_length=16, default="page")
    decided_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-decided_at", "-id")
        constraints = [
            models.UniqueConstraint(fields=["ask", "round"], name="asks_verdict_ask_id_and_round"),
            models.CheckConstraint(
                condition=Q(option__isnull=False) | Q(text__regex=VISIBLE),
                name="a_verdict_says_something",
            ),
            models.CheckConstraint(
                condition=Q(edit__isnull=True) | Q(meaning="approve"), name="only_an_approval_edits"
            ),
        ]
        indexes = [models.Index(fields=["decided_by", "-decided_at"], name="verdicts_by_person")]
        triggers = [
            *append_only_triggers("verdicts"),
            pgtrigger.Trigger(
                name="verdicts_follow_retractions",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__round__gt=0),
                func="""
                    IF NEW.round <> (
                        SELECT count(*) FROM asks_verdict earlier
                        JOIN asks_retraction ON asks_retraction.verdict_id = earlier.id
                        WHERE earlier.ask_id = NEW.ask_id)
                    THEN
                        RAISE unique_violation USING MESSAGE = 'The ask has a verdict.';
                    END IF;
                    RETURN NEW;
                """,
            ),
        ]

    def __str__(self) -> str:
        return self.option_label or self.text[:80]

    @property
    def is_held(self) -> bool:
        """Whether it has not taken effect yet, because it can be taken back or was."""
        window = getattr(self, "window", None)
        return window is not None and window.delivered_at is None


class Refusal(models.Model):
    """A refused answer and the reason. It is recorded like a verdict.

    ``ask_ref`` is the id in the request. ``ask`` is empty if no ask has that id.
    """

    ask = models.ForeignKey(
        Ask, on_delete=models.PROTECT, null=True, blank=True, related_name="refusals"
    )
    ask_ref = models.CharField(max_length=64)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="refusals",
    )
    reason = models.CharField(max_length=16, choices=Reason.choices)
    detail = models.CharField(max_length=1000, blank=True)
    submitted = models.JSONField(default=dict, blank=True)
    via = models.CharField(max_length=16, default="page")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-created_at", "-id")
        triggers = append_only_triggers("refusals")

    def __str__(self) -> str:
        return self.get_reason_display()
