"""Read-only admin pages of ledger records, anchors, and files of the signed channel."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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

    @admin.display(description=gettext_lazy("Is it intact?"))
    def proof(self, record: LedgerRecord) -> str:
        """Prove the record on its own page. Lists do not prove anything."""
        try:
            anchor = verify.prove_record(record)
        except verify.BrokenLedger as broken:
            return _("No. It is broken at %(flaw)s.") % {"flaw": broken}
        if anchor is None:
            return _("Yes. No anchor covers it yet.")
        return _("Yes. Anchor %(number)d covers it.") % {"number": anchor.number}


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
