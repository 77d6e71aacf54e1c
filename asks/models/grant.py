from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from agents.db.append_only import append_only_triggers, never_delete_triggers
from agents.models import Run, Session
from asks.models.ask import Ask


class GrantState(models.TextChoices):
    """minted -> taken -> used, or minted -> lapsed or withdrawn; nothing leads back."""

    MINTED = "minted", _("May run once")
    TAKEN = "taken", _("Taken")
    USED = "used", _("Used")
    LAPSED = "lapsed", _("Lapsed")
    WITHDRAWN = "withdrawn", _("Taken back")


GRANT_MOVES: dict[GrantState, frozenset[GrantState]] = {
    GrantState.MINTED: frozenset({GrantState.TAKEN, GrantState.LAPSED, GrantState.WITHDRAWN}),
    GrantState.TAKEN: frozenset({GrantState.USED}),
}


class GrantEnd(models.TextChoices):
    """Why a grant ended without being used. The label is the sentence that people and agents read."""

    TURN_OVER = "turn_over", _("The turn that it was given to is over.")
    MESSAGE = "message", _("A person wrote to the session.")
    STOPPED = "stopped", _("The turn was stopped.")
    ENDED = "ended", _("The session ended.")
    POLICY = "policy", _("A newer policy is in force.")
    ASKED_AGAIN = "asked_again", _("The agent asked again.")
    FILES = "files", _("A file that it covers has changed.")
    PERSON = "person", _("Somebody who approved it may not answer for this agent any more.")
    DELEGATION = "delegation", _("The delegation with which it was approved is over.")
    KEY = "key", _("The key with which it was approved was revoked.")
    EXPIRED = "expired", _("It was not used in time.")
    TAKEN_BACK = "taken_back", _("A person took it back.")
    EDITED = "edited", _("What the agent is or how it runs was changed.")
    UPGRADED = "upgraded", _("It is from an older version, in which an approval had no end.")


class Grant(models.Model):
    """The right to run exactly one action once, in one turn.

    An approval creates a grant. So does a policy that allows the action without asking; that grant has
    no ``ask``. ``files`` is {path: digest} of the files that the action names, at the time of the
    approval; ``action_hash`` covers them. ``credentials`` names the API keys with which it was approved,
    as ``key:12``. ``run`` is the turn that the approval was given to, once there is one. ``end``,
    ``ended_at`` and ``ended_by`` say why, when and by whom it ended; ``end`` is empty for a used one.
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
    credentials = ArrayField(
        models.CharField(max_length=40),
        default=list,
        db_default=Value([], ArrayField(models.CharField(max_length=40))),
        blank=True,
    )
    made_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(
        max_length=10,
        choices=GrantState.choices,
        default=GrantState.MINTED,
        db_default=GrantState.MINTED,
    )
    run = models.ForeignKey(
        Run, on_delete=models.PROTECT, null=True, blank=True, related_name="grants"
    )
    end = models.CharField(
        max_length=12, choices=GrantEnd.choices, blank=True, default="", db_default=""
    )
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="grants_ended",
    )

    class Meta:
        ordering = ("id",)
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=("minted", "taken")) ^ Q(ended_at__isnull=False),
                name="an_ended_grant_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(end="")
                | Q(state__in=("lapsed", "withdrawn"))
                | Q(state="used", end="upgraded"),
                name="only_an_ended_grant_says_why",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=("lapsed", "withdrawn")) | ~Q(end=""),
                name="an_unused_grant_says_why",
            ),
            models.CheckConstraint(
                condition=~Q(state="withdrawn") | Q(ended_by__isnull=False),
                name="a_withdrawn_grant_names_a_person",
            ),
            models.CheckConstraint(
                condition=~Q(state="minted") | Q(expires_at__isnull=False),
                name="a_live_grant_expires",
            ),
        ]
        indexes = [
            models.Index(fields=["session", "action_hash"], name="grants_by_action"),
            models.Index(fields=["session"], condition=Q(state="minted"), name="grants_that_live"),
        ]
        triggers = [
            *never_delete_triggers("grants"),
            pgtrigger.Trigger(
                name="a_grant_begins_minted",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="minted"),
                func="RAISE EXCEPTION 'pgtrigger: Cannot insert a grant that is not minted';",
            ),
            pgtrigger.FSM(
                name="grant_moves",
                field="state",
                transitions=[
                    (str(here), str(there))
                    for here, ends in GRANT_MOVES.items()
                    for there in sorted(ends)
                ],
            ),
            pgtrigger.ReadOnly(
                name="what_is_granted_stays",
                exclude=["state", "run", "end", "ended_at", "ended_by"],
            ),
            pgtrigger.Trigger(
                name="an_ended_grant_stays",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=("used", "lapsed", "withdrawn")),
                func="RAISE EXCEPTION 'pgtrigger: Cannot change a grant that has ended';",
            ),
        ]

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
        triggers = [
            *append_only_triggers("redemptions"),
            pgtrigger.Trigger(
                name="only_a_taken_grant_is_redeemed",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                func=(
                    "IF NOT EXISTS (SELECT FROM asks_grant WHERE id = NEW.grant_id"
                    " AND state = 'taken') THEN"
                    " RAISE EXCEPTION 'pgtrigger: Cannot redeem a grant that was not taken';"
                    " END IF; RETURN NEW;"
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"redemption of {self.grant_id}"


class EffectEnd(models.TextChoices):
    DONE = "done", "It happened"
    FAILED = "failed", "It did not happen"
    UNKNOWN = "unknown", "It may or may not have happened"
    HANDED = "handed", "It was handed to the agent"


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
