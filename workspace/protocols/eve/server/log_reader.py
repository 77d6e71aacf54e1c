"""Read a session's log for the fold: its events with their asks and verdicts, in a few queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from agents.db.expressions import is_among
from agents.db.statements import Prepared
from agents.lifecycle import SessionState
from agents.models import Event, Session
from agents.text import key_order
from asks.lifecycle import CONFIDENTIAL, AskKind, Meaning
from asks.models import Ask, Option, Verdict
from workspace.protocols.eve.models import EveSession
from workspace.protocols.eve.server.fold import KINDS
from workspace.protocols.eve.server.log_events import (
    APPROVAL,
    QUESTION,
    About,
    Decided,
    Happened,
    Json,
    LoggedRequest,
)

PAGE = 500
_OF_AN_ASK = frozenset({"asked", "verdict", "withdrawn", "expired", "superseded"})
_COLUMNS = ("seq", "created_at", "kind", "run_id", "actor", "text", "data")
_PAGE_AFTER = Prepared(
    lambda session, seq: (
        Event.objects.filter(session=session, seq__gt=seq, kind__in=sorted(KINDS))
        .order_by("seq")
        .only(*_COLUMNS)[:PAGE]
    ),
    of=(int, int),
)
_ASKS = Prepared(lambda ids: Ask.objects.filter(is_among("pk", ids)), of=(list,))
_OPTIONS = Prepared(lambda ids: Option.objects.filter(is_among("ask", ids)), of=(list,))
_VERDICTS = Prepared(
    lambda ids: Verdict.objects.filter(is_among("ask", ids), retraction=None).select_related(
        "ask", "option"
    ),
    of=(list,),
)
_ENDED = Prepared(
    lambda pk: Session.objects.filter(pk=pk, state=SessionState.ENDED).values_list("pk")
)


def read_about(opened: EveSession) -> About:
    return About(opened.public_id, opened.token, opened.session.agent.slug)


def read_after(session_id: int, seq: int, limit: int = PAGE) -> tuple[list[Happened], int]:
    """Return the next events that the wire is built from, and the seq of the last one.

    If there are none, the returned seq is ``seq``.
    """
    rows = _PAGE_AFTER.all(session_id, seq)[:limit]
    requests = _requests(rows)
    verdicts = _verdicts(rows)
    end = _the_end(session_id) if any(row.kind == "state" for row in rows) else None
    happened = [_happened(row, requests, verdicts, end) for row in rows]
    return happened, rows[-1].seq if rows else seq


def _happened(
    row: Event,
    requests: dict[int, LoggedRequest],
    verdicts: dict[int, Decided],
    end: int | None,
) -> Happened:
    ask_id = _ask_id(row) if row.kind in _OF_AN_ASK else 0
    return Happened(
        pk=row.pk,
        at=row.created_at,
        kind=row.kind,
        run=row.run_id,
        text=row.text,
        data=row.data,
        request=requests.get(ask_id),
        decided=verdicts.get(ask_id) if row.kind == "verdict" else None,
        actor=row.actor,
        is_the_end=row.pk == end,
    )


def _ids(rows: Sequence[Event], kinds: frozenset[str]) -> set[int]:
    return {_ask_id(row) for row in rows if row.kind in kinds}


def _ask_id(row: Event) -> int:
    ask_id = row.data.get("ask_id")
    return ask_id if isinstance(ask_id, int) else 0


def _requests(rows: Sequence[Event]) -> dict[int, LoggedRequest]:
    ids = sorted(_ids(rows, _OF_AN_ASK))
    if not ids:
        return {}
    options: defaultdict[int, list[Option]] = defaultdict(list)
    for option in _OPTIONS.all(ids):
        options[option.ask_id].append(option)
    return {ask.pk: request_of(ask, options[ask.pk]) for ask in _ASKS.all(ids)}


def _verdicts(rows: Sequence[Event]) -> dict[int, Decided]:
    """Load the verdicts. Of a confidential ask only the option is reported."""
    ids = sorted(_ids(rows, frozenset({"verdict"})))
    return {
        verdict.ask_id: Decided(
            option=verdict.option.key if verdict.option else "",
            text="" if verdict.ask.confidential else verdict.text,
            approves=verdict.meaning == Meaning.APPROVE,
        )
        for verdict in (_VERDICTS.all(ids) if ids else ())
    }


def _the_end(session_id: int) -> int | None:
    """Return the event that ended the session, if it has ended: its last ``state`` event."""
    if not _ENDED.rows(session_id):
        return None
    stated = Event.objects.filter(session_id=session_id, kind="state")
    return stated.order_by("-seq").values_list("pk", flat=True).first()


def request_of(ask: Ask, options: Iterable[Option]) -> LoggedRequest:
    """An ask as the protocol's InputRequest. What is confidential shows no more than its options."""
    known = key_order.in_order(ask.context, ask.context_order).get("eve")
    facts: Json = known if isinstance(known, dict) else {}
    kind = APPROVAL if ask.kind == AskKind.APPROVAL else QUESTION
    offered = [_option(option) for option in sorted(options, key=lambda one: one.position)]
    display = "confirmation" if kind == APPROVAL else "select" if offered else "text"
    action: Json = {
        "kind": "tool-call",
        "callId": str(facts.get("callId") or ask.request_key),
        "toolName": str(facts.get("toolName") or "ask_question"),
        "input": {} if ask.confidential else facts.get("input") or {},
    }
    wire: Json = {
        "requestId": ask.request_key,
        "kind": kind,
        "prompt": CONFIDENTIAL if ask.confidential else ask.prompt,
        "action": action,
        "allowFreeform": ask.free_text if kind == QUESTION else False,
        "display": display,
    }
    if offered:
        wire["options"] = offered
    step = facts.get("stepIndex")
    return LoggedRequest(ask.pk, wire, step if isinstance(step, int) else 0)


def _option(option: Option) -> Json:
    said: Json = {"id": option.key, "label": option.label}
    if option.detail:
        said["description"] = option.detail
    return said | ({"style": str(option.style)} if option.style != "default" else {})
