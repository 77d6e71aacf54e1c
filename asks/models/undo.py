from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models import Session
from asks.models.decision import Verdict
from asks.models.voting import Vote


class UndoWindow(models.Model):
    """The time in which a verdict can be taken back. Until it ends, the agent does not get the verdict.

    ``pressed_by`` is the person whose press recorded the verdict; only they take it back. ``vote`` is
    the vote that this press cast, if several people decide. ``until`` is when the window ends; it only
    becomes earlier. ``delivered_at`` is when the verdict took effect.
    """

    verdict = models.OneToOneField(
        Verdict, on_delete=models.PROTECT, primary_key=True, related_name="window"
    )
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="undo_windows")
    pressed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="undo_windows"
    )
    vote = models.OneToOneField(
        Vote, on_delete=models.PROTECT, null=True, blank=True, related_name="window"
    )
    until = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("verdict",)
        indexes = [
            models.Index(
                fields=["session"],
                condition=models.Q(delivered_at__isnull=True),
                name="windows_that_are_open",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="windows_are_kept", operation=pgtrigger.Delete),
            pgtrigger.Trigger(
                name="windows_are_short",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                func="""
                    IF NEW.until > clock_timestamp() + interval '31 seconds' THEN
                        RAISE check_violation USING MESSAGE = 'An undo window lasts 30 seconds at most.';
                    END IF;
                    RETURN NEW;
                """,
            ),
            pgtrigger.Trigger(
                name="windows_only_end",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                func="""
                    IF NEW.until > OLD.until OR OLD.delivered_at IS NOT NULL
                    OR (NEW.verdict_id, NEW.session_id, NEW.pressed_by_id, NEW.vote_id)
                        IS DISTINCT FROM
                        (OLD.verdict_id, OLD.session_id, OLD.pressed_by_id, OLD.vote_id)
                    OR EXISTS (
                        SELECT FROM asks_retraction WHERE asks_retraction.verdict_id = OLD.verdict_id)
                    THEN
                        RAISE check_violation USING MESSAGE = 'An undo window only ends.';
                    END IF;
                    RETURN NEW;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"undo window of verdict {self.verdict_id}"


class Retraction(models.Model):
    """A verdict that was taken back in its window. The verdict stays on record; its ask is open again.

    ``vote`` is the vote that was taken back with it. ``ask_then`` holds those facts of the ask that can
    change later, as they were when it was answered; the ledger needs them to prove the verdict.
    """

    verdict = models.OneToOneField(Verdict, on_delete=models.PROTECT, related_name="retraction")
    vote = models.OneToOneField(
        Vote, on_delete=models.PROTECT, null=True, blank=True, related_name="retraction"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="retractions"
    )
    via = models.CharField(max_length=16, default="page")
    ask_then = models.JSONField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-at", "-id")
        triggers = [
            *append_only_triggers("retractions"),
            pgtrigger.Trigger(
                name="retractions_are_in_time",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                func="""
                    IF NEW.at NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp()
                    OR NOT EXISTS (
                        SELECT FROM asks_undowindow undo
                        JOIN asks_ask ask ON ask.verdict_id = undo.verdict_id
                        WHERE undo.verdict_id = NEW.verdict_id AND undo.pressed_by_id = NEW.by_id
                        AND undo.vote_id IS NOT DISTINCT FROM NEW.vote_id
                        AND undo.until > NEW.at AND undo.delivered_at IS NULL
                        AND ask.status = 'answered')
                    THEN
                        RAISE check_violation
                        USING MESSAGE = 'Only who pressed takes a verdict back, and only in time.';
                    END IF;
                    RETURN NEW;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"retraction of verdict {self.verdict_id}"

    @property
    def answer(self) -> str:
        """What was pressed: an option's label, or a text."""
        label = self.vote.option_label if self.vote else self.verdict.option_label
        return label or self.verdict.text
