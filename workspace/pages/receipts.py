"""The receipt of a decision: what was shown and decided, its effects and its proof."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from agents.lifecycle import InboxKind
from agents.models import InboxItem
from asks import access
from asks.ledger import verify
from asks.lifecycle import AskStatus
from asks.models import Anchor, Ask, Grant, LedgerRecord, Retraction
from asks.queue import queries
from workspace.pages.cards.facts import facts_of, with_past
from workspace.pages.cards.rules import with_votes
from workspace.pages.owner_request import OwnerRequest, render_page
from workspace.templatetags.words import age_in_words

DEVICES = {
    "phone": gettext_lazy("a phone or tablet"),
    "desktop": gettext_lazy("a computer"),
    "api": gettext_lazy("a program"),
}
DOORS = {
    "page": gettext_lazy("this workspace"),
    "signed": gettext_lazy("the signed channel"),
    "api": gettext_lazy("the API"),
}


@dataclass(frozen=True)
class ReceiptProof:
    """The ledger record of a decision. ``broken`` describes a failed check."""

    record: LedgerRecord | None
    facts: dict[str, Any]
    anchor: Anchor | None = None
    broken: str = ""

    @property
    def principal(self) -> str:
        """The signer's name in the allowed-signers file."""
        return str((self.facts.get("proof") or {}).get("principal", ""))

    @property
    def device(self) -> str:
        return str(DEVICES.get(str(self.facts.get("device", "")), ""))


@require_safe
def show_receipt(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """GET /decisions/<ask id>/receipt/: show a closed ask's receipt to its readers and to auditors."""
    mine = access.receipts_of(request.user).filter(pk=ask_id)
    ask = with_past(queries.with_card_facts(mine)).first()
    if ask is None:
        raise Http404
    with_votes([ask])
    verdict = getattr(ask, "verdict", None)
    return render_page(
        request,
        "receipt",
        "decisions",
        ask=facts_of(ask),
        found=ask,
        is_mine=access.asks_of(request.user).filter(pk=ask_id).exists(),
        runs_mine=access.sessions_of(request.user).filter(pk=ask.session_id).exists(),
        verdict=verdict,
        via=DOORS.get(verdict.via, verdict.via) if verdict else "",
        waited=age_in_words(ask.closed_at - ask.opened_at) if ask.closed_at else "",
        carried=_carried(ask),
        grant=_grant(ask),
        refusals=list(ask.refusals.select_related("by").order_by("pk")),
        retractions=_retractions(ask),
        proof=_proof(ask),
    )


def _retractions(ask: Ask) -> list[Retraction]:
    """Return the answers that were taken back before this decision, oldest first."""
    if not ask.retracted:
        return []
    taken = Retraction.objects.filter(verdict__ask=ask).order_by("pk")
    return list(taken.select_related("by", "verdict", "vote"))


def _grant(ask: Ask) -> Grant | None:
    """Return the grant of the decision with its redemption and effect."""
    return Grant.objects.filter(ask=ask).select_related("redemption__effect").first()


def _carried(ask: Ask) -> list[InboxItem]:
    """Return the inbox items that deliver this decision, with the runs that claimed them."""
    items = InboxItem.objects.filter(session=ask.session, kind=InboxKind.VERDICT)
    return list(items.filter(data__ask_id=ask.pk).select_related("leased_by").order_by("pk"))


def _proof(ask: Ask) -> ReceiptProof:
    record = _record(ask)
    if record is None:
        return ReceiptProof(None, {}, broken=_("The ledger has no record of it."))
    try:
        anchor = verify.prove_record(record)
        return ReceiptProof(record, json.loads(record.body)["facts"], anchor)  # noqa: TID251  our own writing
    except verify.BrokenLedger as broken:
        return ReceiptProof(
            record, {}, broken=_("The ledger is broken at {record}.").format(record=broken)
        )


def _record(ask: Ask) -> LedgerRecord | None:
    if ask.status == AskStatus.ANSWERED:
        told = LedgerRecord.objects.filter(kind="verdict", subject=f"verdict:{ask.decision.pk}")
    else:
        kinds = [ask.status, "imported"]
        told = LedgerRecord.objects.filter(kind__in=kinds, subject=f"ask:{ask.pk}")
    return told.order_by("seq").last()
