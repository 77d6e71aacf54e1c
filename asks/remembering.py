"""What was decided in a session and what is still open, for the prompt of an agent that has no memory.

The words of a confidential question and its answer are left out: the agent was told them once, in the
turn after the answer, and a prompt can be read by more people.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Q, QuerySet

from agents.running.runtime import Remembered
from agents.text.canonical_json import Json
from asks.actions import binding
from asks.lifecycle import AskStatus
from asks.models import Ask, Grant, GrantState, Verdict

#: Decisions and open questions that a prompt lists at most, and their characters together.
MOST_DECIDED, DECIDED_SIZE = 20, 12_000
MOST_OPEN, OPEN_SIZE = 10, 6_000
#: Asks that are looked through for the last decision of each question.
LOOKED_THROUGH = 300
LONGEST_TEXT = 1_000
_OVER = (AskStatus.ANSWERED, AskStatus.WITHDRAWN, AskStatus.EXPIRED)


def remember_asks(session_id: int, *, told: Collection[int] = ()) -> Remembered:
    """Return the last decision of each question and the open questions, oldest first.

    ``told`` are the ids of the asks whose verdicts the turn is given anyway.
    """
    asks = Ask.objects.filter(session=session_id).exclude(pk__in=[pk for pk in told if pk])
    over = asks.filter(_takes_effect(), status__in=_OVER)
    still_open = asks.filter(status=AskStatus.OPEN)
    decided = list(_fitting(_last_of_each(over), MOST_DECIDED, DECIDED_SIZE))
    opened = list(_fitting(map(_open, _loaded(still_open)), MOST_OPEN, OPEN_SIZE))
    return Remembered(
        decided=tuple(reversed(decided)),
        still_open=tuple(reversed(opened)),
        decided_left_out=over.count() - len(decided) if decided else 0,
        open_left_out=still_open.count() - len(opened) if opened else 0,
    )


def _takes_effect() -> Q:
    """Match asks whose verdict cannot be taken back any more."""
    held = Q(verdict__window__isnull=False, verdict__window__delivered_at=None)
    return ~Q(status=AskStatus.ANSWERED) | ~held


def _loaded(asks: QuerySet[Ask]) -> list[Ask]:
    related = ("gate", "closed_by", "verdict__decided_by", "verdict__option", "grant")
    return list(asks.select_related(*related).order_by("-pk")[:LOOKED_THROUGH])


def _last_of_each(over: QuerySet[Ask]) -> Iterator[dict[str, Any]]:
    """Yield the last decision of each question, newest first."""
    seen: set[str] = set()
    for ask in _loaded(over):
        gate = binding.gate_of(ask)
        key = json.dumps([ask.prompt, gate and [gate.operation, gate.params]], sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield _decided(ask)


def _fitting(found: Iterator[dict[str, Any]], most: int, size: int) -> Iterator[dict[str, Any]]:
    for count, one in enumerate(found):
        size -= len(json.dumps(one, ensure_ascii=False))
        if count == most or (size < 0 and count):
            return
        yield one


def _decided(ask: Ask) -> dict[str, Any]:
    verdict = ask.verdict
    said = _said(verdict) if verdict else {"words": _cut(ask.close_reason)}
    person = verdict.decided_by if verdict else ask.closed_by
    return {
        "ask_id": ask.pk,
        "outcome": ask.status,
        "by": person.get_username() if person else "",
        "at": ask.closed_at.isoformat() if ask.closed_at else "",
        **_asked(ask),
        **({} if ask.confidential else said),
        **_release(ask, verdict),
    }


def _said(verdict: Verdict) -> dict[str, Any]:
    option = verdict.option
    return {
        "option": option.key if option else "",
        "label": verdict.option_label,
        "words": _cut(verdict.text),
        "meaning": verdict.meaning,
    }


def _release(ask: Ask, verdict: Verdict | None) -> dict[str, Any]:
    """Return what became of an approval: used, lapsed, …; empty if nothing was released."""
    grant: Grant | None = getattr(ask, "grant", None)
    if grant is None or verdict is None:
        return {}
    edited = {"params": _short(verdict.edit["edited"])} if verdict.edit else {}
    return {"approval": GrantState(grant.state).value, **({} if ask.confidential else edited)}


def _open(ask: Ask) -> dict[str, Any]:
    options = [] if ask.confidential else [option.label for option in ask.options.all()]
    return {
        "ask_id": ask.pk,
        "since": ask.opened_at.isoformat(),
        "options": [_cut(label) for label in options],
        **_asked(ask),
    }


def _asked(ask: Ask) -> dict[str, Any]:
    if ask.confidential:
        return {"confidential": True}
    gate = binding.gate_of(ask)
    action = {"operation": gate.operation, "params": _short(gate.params)} if gate else {}
    return {"question": _cut(ask.prompt), **action}


def _short(params: Json) -> Json:
    """Return params, or the beginning of their JSON if they are long."""
    text = json.dumps(params, ensure_ascii=False)
    return params if len(text) <= LONGEST_TEXT else _cut(text)


def _cut(text: str) -> str:
    over = len(text) - LONGEST_TEXT
    return text if over <= 0 else f"{text[:LONGEST_TEXT]} [… {over} more characters]"
