"""Lists and pages of the audit that keep what is confidential from those who may not see it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agents.read_only_admin import Audited
from asks.admin import redaction


class Redacted(Audited):
    """Rows are redacted as they are read, so that no column, page or export can forget it."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        person = cast("AbstractBaseUser", request.user)
        rows = redaction.redact_rows(super().get_queryset(request), person)
        together = {*filter(None, redaction.ASKS.get(self.model, ())), *self._beside()}
        return rows.select_related(*sorted(together)) if together else rows

    def _beside(self) -> tuple[str, ...]:
        """What the list shows of other tables: once anything is selected, Django adds no more."""
        wanted = self.list_select_related
        return () if isinstance(wanted, bool) else tuple(wanted)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What is hidden is not found by its words either."""
        found, doubled = super().get_search_results(request, queryset, search_term)
        return (found.filter(is_hidden=False) if search_term.strip() else found), doubled

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No address asks which rows hold a word: Django would let it, of any column."""
        if lookup.partition("__")[0] in redaction.CONTENT.get(self.model, {}):
            return False
        return super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]

    def get_inlines(self, request: HttpRequest, obj: Model | None) -> Any:  # noqa: ANN401
        """Options, gate and verdict of what is hidden are not read at all."""
        return [] if getattr(obj, "is_hidden", False) else super().get_inlines(request, obj)
