"""Admin lists and pages that hide confidential asks from people who may not see them."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from agents.read_only_admin import Audited
from asks.admin import redaction


class Redacted(Audited):
    """Redacts rows as they are loaded, so that every column, page and export is covered."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        person = cast("AbstractBaseUser", request.user)
        rows = redaction.redact_rows(super().get_queryset(request), person)
        related = {*filter(None, redaction.ASKS.get(self.model, ())), *self._listed_relations()}
        return rows.select_related(*sorted(related)) if related else rows

    def _listed_relations(self) -> tuple[str, ...]:
        """Return ``list_select_related``: Django ignores it once a queryset has selected relations."""
        relations = self.list_select_related
        return () if isinstance(relations, bool) else tuple(relations)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exclude hidden rows from search results: a match would reveal their content."""
        rows, has_duplicates = super().get_search_results(request, queryset, search_term)
        return (rows.filter(is_hidden=False) if search_term.strip() else rows), has_duplicates

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Reject filters on redacted columns in the URL: Django allows them on any column."""
        if lookup.partition("__")[0] in redaction.CONTENT.get(self.model, {}):
            return False
        return super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]

    def get_inlines(self, request: HttpRequest, obj: Model | None) -> Any:  # noqa: ANN401
        """Load no options, gate or verdict of a hidden ask."""
        return [] if getattr(obj, "is_hidden", False) else super().get_inlines(request, obj)
