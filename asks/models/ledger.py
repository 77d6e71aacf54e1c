from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.db.append_only import append_only_triggers

#: A subject has at most one record of each of these kinds.
ONCE = (
    "verdict",
    "vote",
    "retracted",
    "refusal",
    "withdrawn",
    "expired",
    "superseded",
    "imported",
    "dropped",
    "policy_changed",
    "key_created",
    "key_revoked",
    "delegated",
    "delegation_revoked",
)


class LedgerRecord(models.Model):
    """One record of the ledger, hash-chained to the previous record.

    ``body`` is RFC 8785 canonical JSON of {v, chain, seq, prev, kind, subject, actor, at, facts}.
    ``hash`` is its SHA-256 in hex, and ``prev`` the hash of the previous record. Every other column
    repeats a part of the body for queries; the body is authoritative.
    """

    hash = models.CharField(max_length=64, primary_key=True)
    chain = models.CharField(max_length=80)
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=80)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField()
    body = models.TextField()

    class Meta:
        ordering = ("chain", "seq")
        constraints = [
            models.UniqueConstraint(fields=["chain", "seq"], name="ledger_chains_have_no_forks"),
            models.UniqueConstraint(
                fields=["subject", "kind"],
                condition=Q(kind__in=ONCE),
                name="a_decision_is_in_the_ledger_once",
            ),
            models.CheckConstraint(condition=Q(seq__gte=1), name="ledger_chains_count_from_one"),
        ]
        indexes = [models.Index(fields=["at"], name="ledger_by_time")]
        triggers = append_only_triggers("ledger")

    def __str__(self) -> str:
        return f"{self.chain} {self.seq}"


class Anchor(models.Model):
    """A signed list of chain heads. Anchors are chained to each other.

    ``body`` is canonical JSON of {v, number, prev, at, heads: {chain: [seq, hash]}}. ``heads`` holds
    the chains that have grown since the previous anchor. ``signature`` is Ed25519 over
    ``asks.ledger.anchors.PREFIX`` and the body. ``signature`` and ``public_key`` are hex.
    """

    number = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField()
    hash = models.CharField(max_length=64, unique=True)
    public_key = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    body = models.TextField()

    class Meta:
        ordering = ("number",)
        triggers = append_only_triggers("anchors")

    def __str__(self) -> str:
        return f"anchor {self.number}"
