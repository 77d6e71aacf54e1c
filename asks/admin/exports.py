"""Export decisions as CSV or JSON, for auditors who use other tools.

Both formats have the same columns. In CSV, a cell that a spreadsheet would run as a formula gets a
leading apostrophe. JSON contains every value verbatim.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.text.canonical_json import Json, iso_moment
from asks.models import Anchor, Ask, LedgerRecord, Refusal, SignedFile, Verdict

if TYPE_CHECKING:
    ExportedAdmin = admin.ModelAdmin[Model]
else:
    ExportedAdmin = object

Column = Callable[[Any], Any]
MOST_ROWS = 100_000
_RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _action_of(name: str) -> Column:
    return lambda decision: getattr(getattr(decision.ask, "gate", None), name, None)


def _of_ask(name: str) -> Column:
    return lambda decision: getattr(decision.ask, name, None)


_ASKED: dict[str, Column] = {
    "ask": _of_ask("pk"),
    "session": _of_ask("session_id"),
    "agent": lambda decision: decision.ask.agent.slug if decision.ask else None,
    "question": _of_ask("prompt"),
    "operation": _action_of("operation"),
    "params": _action_of("params"),
    "money_critical": _of_ask("money_critical"),
}
_VERDICTS: dict[str, Column] = {
    "decided_at": lambda verdict: verdict.decided_at,
    "by": lambda verdict: verdict.decided_by.get_username(),
    **_ASKED,
    "option": lambda verdict: verdict.option.key if verdict.option else None,
    "label": lambda verdict: verdict.option_label,
    "words": lambda verdict: verdict.text,
    "meaning": lambda verdict: verdict.meaning,
    "edited": lambda verdict: verdict.edit["edited"] if verdict.edit else None,
    "via": lambda verdict: verdict.via,
    "waited_seconds": lambda verdict: _waited(verdict.ask, verdict.decided_at),
    "action_hash": _action_of("action_hash"),
    "policy_version": _action_of("policy_version"),
    "run_version": _action_of("run_version"),
}
_REFUSALS: dict[str, Column] = {
    "at": lambda refusal: refusal.created_at,
    "by": lambda refusal: refusal.by.get_username() if refusal.by else None,
    "reason": lambda refusal: refusal.reason,
    "detail": lambda refusal: refusal.detail,
    "via": lambda refusal: refusal.via,
    "ask_ref": lambda refusal: refusal.ask_ref,
    **_ASKED,
    "submitted": lambda refusal: refusal.submitted,
}


def _plain(*names: str) -> dict[str, Column]:
    return {name: attrgetter(name) for name in names}


COLUMNS: Mapping[type[Model], dict[str, Column]] = {
    Verdict: _VERDICTS,
    Refusal: _REFUSALS,
    LedgerRecord: _plain("chain", "seq", "kind", "subject", "actor", "at", "hash", "body"),
    Anchor: _plain("number", "at", "hash", "public_key", "signature", "body"),
    SignedFile: _plain("seen_at", "name", "ask_ref", "principal", "why", "verdict_id", "digest"),
}
_WITH: Mapping[type[Model], tuple[str, ...]] = {
    Verdict: ("ask__agent", "ask__gate", "decided_by", "option"),
    Refusal: ("ask__agent", "ask__gate", "by"),
}


def _waited(ask: Ask, until: datetime) -> int | None:
    """Return the seconds that an ask waited; None for an imported ask, whose start is unknown."""
    return None if ask.imported else int((until - ask.opened_at).total_seconds())


def rows(queryset: QuerySet[Any]) -> Iterator[dict[str, Any]]:
    """Iterate over the rows as {column: value}, in one query."""
    columns = COLUMNS[queryset.model]
    related = _WITH.get(queryset.model)
    for row in (queryset.select_related(*related) if related else queryset)[:MOST_ROWS]:
        yield {name: _value(column(row)) for name, column in columns.items()}


def _value(value: Json) -> Json:
    return iso_moment(value) if isinstance(value, datetime) else value


def as_csv(queryset: QuerySet[Any]) -> str:
    """Return the rows as CSV with a header line."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(COLUMNS[queryset.model]))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows(queryset))
    return file.getvalue()


def _cell(value: Json) -> Json:
    if isinstance(value, dict | list):
        value = json.dumps(value, sort_keys=True)
    if isinstance(value, str) and value.startswith(_RUNS_AS_FORMULA):
        return f"'{value}"
    return value


def as_json(queryset: QuerySet[Any]) -> str:
    return json.dumps(list(rows(queryset)), indent=1)


class Exported(ExportedAdmin):
    """Adds actions to an admin list that export the selected rows as CSV or JSON."""

    actions: Any = ("export_csv", "export_json")  # an audited list has no other actions

    @admin.action(description=gettext_lazy("Export as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return self._file(request, queryset, as_csv, "csv", "text/csv; charset=utf-8")

    @admin.action(description=gettext_lazy("Export as JSON"), permissions=["view"])
    def export_json(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return self._file(request, queryset, as_json, "json", "application/json")

    def _file(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        write: Callable[[QuerySet[Any]], str],
        ending: str,
        content_type: str,
    ) -> HttpResponse | None:
        """Return the file. If there are too many rows, show a message and return None."""
        if queryset.count() > MOST_ROWS:
            text = _("A file holds at most %(limit)d rows. Filter the list first.")
            self.message_user(request, text % {"limit": MOST_ROWS}, messages.ERROR)
            return None
        name = f"{queryset.model._meta.model_name}s.{ending}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(write(queryset), content_type=content_type, headers=headers)
