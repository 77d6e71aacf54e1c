"""Filters of the pages on which an agent is changed."""

from __future__ import annotations

import json

from django import template
from django.http import HttpRequest

from asks.queue.unanswerable import unanswerable_asks
from workspace.text import visible

register = template.Library()

#: Longer values of a recorded change are cut where they are listed; the ledger has the whole.
MOST = 300


@register.filter
def record_value(value: object) -> str:
    """Return a value of a recorded change on one line: words as they are, the rest as JSON."""
    if value is None:
        return "—"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        text = ", ".join(value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = visible.visible_line(text) or "—"
    return line if len(line) <= MOST else f"{line[:MOST]}…"


@register.inclusion_tag("parts/handover_banner.html", takes_context=True)
def handover_banner(context: template.Context) -> dict[str, int]:
    """Tell administrators of asks that nobody may answer. It asks nothing for anybody else."""
    request: HttpRequest | None = context.get("request")
    person = request.user if request else None
    if person is None or not (person.is_active and (person.is_staff or person.is_superuser)):
        return {"number": 0}
    may_help = person.has_perm("agents.change_agent")
    return {"number": unanswerable_asks().count() if may_help else 0}
