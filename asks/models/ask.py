from __future__ import annotations

from typing import TYPE_CHECKING

import pgtrigger
from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import JSONField, Q, Value
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from agents.models import Agent, Run, Session
from asks.lifecycle import AskKind, AskStatus, Meaning, Style

if TYPE_CHECKING:
    from asks.models.decision import Verdict


class Ask(models.Model):
    """A question or an approval that a run raised.

    ``request_key`` is the protocol's id of the request; a session raises each key once.
    ``prompt_html`` is the prompt, rendered and sanitised once. ``context`` is additional information
    from the agent, {name: value}, and ``context_order`` the order of its names. ``agent`` repeats
    the session's agent, so that one index covers a person's queue.

    ``terms`` holds the result of the policy when the ask was raised (see ``asks.policies.terms``).
    The columns that filter a queue repeat parts of it: ``answered_by`` is the group that answers
    (the owners if empty), and ``barred`` holds the ids of the people who may not answer because the
    run was started for them. ``card_version`` increases whenever the card of an open ask changes.

    ``verdict`` is the one that was not taken back. ``retracted`` counts those that were.
    """

    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="asks")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="asks")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="asks")
    request_key = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=AskKind.choices, default=AskKind.QUESTION)
    prompt = models.TextField()
    prompt_html = models.TextField()
    free_text = models.BooleanField(default=True)
    money_critical = models.BooleanField(default=False)
    context = models.JSONField(default=dict, blank=True)
    context_order = models.JSONField(
        default=dict, db_default=Value({}, JSONField()), blank=True, editable=False
    )
    likeness = models.CharField(
        max_length=32,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The same for every ask of the same question.",
    )
    imported = models.BooleanField(
        default=False, help_text="It came from an approvals file; since when it waits is unknown."
    )
    terms = models.JSONField(default=dict, db_default=Value({}, JSONField()), blank=True)
    answered_by = models.ForeignKey(
        Group, on_delete=models.PROTECT, null=True, blank=True, related_name="asks"
    )
    barred = ArrayField(
        models.BigIntegerField(),
        default=list,
        db_default=Value([], ArrayField(models.BigIntegerField())),
        blank=True,
    )
    confidential = models.BooleanField(default=False, db_default=False)
    escalated_to = models.ForeignKey(
        Group,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="escalated_asks",
        help_text="Who may answer too, since it has waited too long.",
    )
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="claimed_asks",
    )
    claimed_at = models.DateTimeField(null=True, blank=True)
    extended = models.PositiveSmallIntegerField(default=0, db_default=0)
    card_version = models.PositiveIntegerField(default=0, db_default=0)
    status = models.CharField(max_length=16, choices=AskStatus.choices, default=AskStatus.OPEN)
    opened_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="closed_asks",
    )
    close_reason = models.CharField(max_length=1000, blank=True)
    verdict = models.OneToOneField(
        "Verdict",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_constraint=False,  # a verdict without its ask, and the reverse, is found by the ledger
    )
    retracted = models.PositiveSmallIntegerField(default=0, db_default=0)
    superseded_by = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )
    repeats = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="repeated_by",
        help_text="The ask that this one asks again, whatever became of that.",
    )

    class Meta:
        ordering = ("opened_at", "pk")
        constraints = [
            models.UniqueConstraint(
                fields=["session", "request_key"], name="a_request_is_asked_once"
            ),
            models.CheckConstraint(
                condition=Q(status="open") ^ Q(closed_at__isnull=False),
                name="open_has_no_closing_time",
            ),
            models.CheckConstraint(
                condition=~Q(status="superseded") | Q(superseded_by__isnull=False),
                name="superseded_names_its_successor",
            ),
            models.CheckConstraint(
                condition=Q(claimed_by=None) ^ Q(claimed_at__isnull=False),
                name="a_claim_has_a_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["agent", "opened_at", "id"],
                condition=Q(status="open"),
                name="asks_that_wait",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(status="open", expires_at__isnull=False),
                name="asks_that_expire",
            ),
            models.Index(fields=["agent", "-closed_at", "-id"], name="asks_that_are_over"),
            models.Index(
                fields=["agent", "likeness"],
                condition=Q(status="answered"),
                name="answers_to_a_question",
            ),
            models.Index(
                fields=["answered_by"],
                condition=Q(answered_by__isnull=False),
                name="asks_of_a_group",
            ),
            models.Index(
                fields=["escalated_to"],
                condition=Q(escalated_to__isnull=False),
                name="asks_that_are_escalated",
            ),
        ]
        triggers = [
            pgtrigger.FSM(
                name="ask_moves",
                field="status",
                transitions=[
                    *(("open", str(end)) for end in sorted(set(AskStatus) - {AskStatus.OPEN})),
                    ("answered", "open"),
                ],
            ),
            pgtrigger.Trigger(
                name="ask_reopens",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__status="answered", new__status="open"),
                func="""
                    IF NEW.verdict_id IS NOT NULL OR NEW.retracted <> OLD.retracted + 1
                    OR NOT EXISTS (
                        SELECT FROM asks_retraction
                        WHERE asks_retraction.verdict_id = OLD.verdict_id)
                    THEN
                        RAISE check_violation
                        USING MESSAGE =
                            'Invalid transition: only a retraction opens an answered ask again.';
                    END IF;
                    RETURN NEW;
                """,
            ),
            pgtrigger.ReadOnly(
                name="terms_stay", fields=["terms", "answered_by", "barred", "confidential"]
            ),
        ]

    def __str__(self) -> str:
        """Return a title for lists. It never reveals the prompt of a confidential ask."""
        return f"confidential ask {self.pk}" if self.confidential else self.prompt[:80]

    @property
    def decision(self) -> Verdict:
        """The verdict of an answered ask. Raises ValueError without one."""
        if self.verdict is None:
            raise ValueError(f"Ask {self.pk} has no verdict.")
        return self.verdict


class Option(models.Model):
    """An offered answer. Agents match its ``key``; people read its ``label``."""

    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="options")
    key = models.CharField(max_length=100)
    label = models.CharField(max_length=4000)
    detail = models.CharField(max_length=4000, blank=True)
    style = models.CharField(max_length=16, choices=Style.choices, default=Style.DEFAULT)
    meaning = models.CharField(max_length=16, choices=Meaning.choices, default=Meaning.ANSWER)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ("ask", "position")
        constraints = [
            models.UniqueConstraint(fields=["ask", "key"], name="option_keys_are_unique"),
            models.UniqueConstraint(fields=["ask", "position"], name="options_are_in_order"),
            models.UniqueConstraint(fields=["ask", "id"], name="options_belong_to_their_ask"),
            models.CheckConstraint(
                condition=~Q(key="") & ~Q(label=""), name="an_option_has_a_name"
            ),
        ]
        triggers = append_only_triggers("options")

    def __str__(self) -> str:
        return self.label


class Gate(models.Model):
    """The action behind an approval, and the binding that an answer must echo.

    ``number`` counts 0, 1, 2 … in the session. The binding consists of ``action_hash`` (over the
    operation, the params and the files that they name), ``policy_version`` and ``run_version``.
    ``files`` is {path: digest, or the reason why there is none} at the time of the ask. ``schema`` is
    the JSON Schema of the params, if the protocol supplies one. ``params_order`` is the order of the
    names in the params (``agents.text.key_order``): no digest covers it.
    """

    ask = models.OneToOneField(Ask, on_delete=models.PROTECT, related_name="gate")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="gates")
    number = models.PositiveIntegerField()
    operation = models.CharField(max_length=200)
    params = models.JSONField()
    params_order = models.JSONField(
        default=dict, db_default=Value({}, JSONField()), blank=True, editable=False
    )
    files = models.JSONField(default=dict, db_default=Value({}, JSONField()), blank=True)
    schema = models.JSONField(null=True, blank=True)
    action_hash = models.CharField(max_length=80)
    policy_version = models.PositiveIntegerField()
    run_version = models.CharField(max_length=40)

    class Meta:
        ordering = ("session", "number")
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="gates_are_numbered"),
            models.CheckConstraint(
                condition=Q(action_hash__regex=r"^v1:[0-9a-f]{64}$")
                & ~Q(run_version="")
                & ~Q(operation=""),
                name="a_gate_is_bound",
            ),
        ]
        triggers = append_only_triggers("gates")

    def __str__(self) -> str:
        return f"gate {self.number}: {self.operation}"
