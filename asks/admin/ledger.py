"""The ledger in the audit, to read: its records, its anchors, and the files of the signed channel."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin

from agents.read_only_admin import Audited, linked
from asks.admin.exports import Exported
from asks.admin.redacted import Redacted
from asks.ledger import verify
from asks.models import Anchor, LedgerRecord, SignedFile


@admin.register(LedgerRecord)
class LedgerRecordAdmin(Exported, Redacted):
    list_display = ("chain", "seq", "kind", "subject", "actor", "at")
    list_filter = ("kind",)
    search_fields = ("chain", "subject", "actor", "hash")
    date_hierarchy = "at"
    ordering = ("-at", "-seq")
    readonly_fields: ClassVar[Any] = ("proof", "lists")

    @admin.display(description="Does it hold?")
    def proof(self, record: LedgerRecord) -> str:
        """What the page of one record says of it; lists do not prove anything."""
        try:
            anchor = verify.prove_record(record)
        except verify.BrokenLedger as broken:
            return f"No. It is broken at {broken}."
        return (
            f"Yes, under anchor {anchor.number}."
            if anchor
            else "Yes. No anchor stands over it yet."
        )


@admin.register(Anchor)
class AnchorAdmin(Exported, Audited):
    list_display = ("number", "at", "hash", "public_key")
    list_filter = ("public_key",)
    search_fields = ("hash",)
    date_hierarchy = "at"
    ordering = ("-number",)


@admin.register(SignedFile)
class SignedFileAdmin(Exported, Redacted):
    list_display = ("name", "ask_ref", "principal", "why", linked("verdict"), "seen_at")
    list_filter = (("verdict", admin.EmptyFieldListFilter),)
    list_select_related = ("verdict",)
    search_fields = ("name", "ask_ref", "principal", "why")
    date_hierarchy = "seen_at"
