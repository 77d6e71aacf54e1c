"""Record the refusals of the signed channel and show them like every other refusal."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents import actors
from agents.events.log import record_event
from agents.locking import lock_first_session
from agents.models import Session
from agents.text.canonical_json import printable
from agents.text.storable import make_storable
from asks import access
from asks.ledger import chain
from asks.lifecycle import Reason
from asks.models import Ask, Refusal
from asks.refusals import Refused, number_of

_DETAILS = {
    Reason.NOT_FOUND: gettext_noop(
        "The file does not name a question that is decided by signature."
    ),
    Reason.UNKNOWN_OPTION: str(Reason.UNKNOWN_OPTION.label),
    Reason.STALE: gettext_noop(
        "The signed document does not match the question. Nothing was approved."
    ),
}


def record_unproven(flaw: str, *, ask_ref: str, file: str) -> Refused:
    """Record a file without a valid signature. Its author is unknown, so no person is recorded."""
    detail = _("%(file)s: %(flaw)s. Nothing was approved.") % {
        "file": printable(file, 120),
        "flaw": printable(flaw, 300),
    }
    number = number_of(ask_ref)
    ask = Ask.objects.filter(pk=number, money_critical=True).first() if number else None
    row = _record(Reason.UNPROVEN, detail, ask=ask, ask_ref=ask_ref, submitted={"file": file})
    _show_in_thread(ask, row, actor="unknown")
    return Refused(Reason.UNPROVEN, detail, ask)


def record_signed_refusal(
    reason: Reason, *, ask: Ask | None, ask_ref: str, claims: dict[str, Any], by: User
) -> Refused:
    """Record a file that is validly signed by ``by`` but decides nothing."""
    detail = _(_DETAILS[reason])
    submitted = {key: printable(json.dumps(value), 400) for key, value in list(claims.items())[:20]}
    row = _record(reason, detail, ask=ask, ask_ref=ask_ref, submitted=submitted, by=by)
    if ask is not None and access.may_see(by, ask):
        _show_in_thread(ask, row, actor=actors.human(by))
    return Refused(reason, detail, ask)


def _record(
    reason: Reason,
    detail: str,
    *,
    ask: Ask | None,
    ask_ref: str,
    submitted: dict[str, Any],
    by: User | None = None,
) -> Refusal:
    row = Refusal.objects.create(
        ask=ask,
        ask_ref=ask_ref,
        by=by,
        reason=reason,
        detail=detail[:1000],
        submitted=make_storable(submitted),
        via="signed",
    )
    chain.append_refusal(row)
    return row


def _show_in_thread(ask: Ask | None, row: Refusal, *, actor: str) -> None:
    """Show the owners the attempt in the session's thread."""
    if ask is None:
        return
    session = lock_first_session(Session.objects.filter(pk=ask.session_id))
    if session is not None:
        data = {"ask_id": ask.pk, "reason": row.reason, "via": "signed"}
        record_event(session, "refused", actor=actor, text=row.detail, data=data)
