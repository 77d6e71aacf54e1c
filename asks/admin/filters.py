"""By what decisions are found in the audit beside their own columns: the operation, and the waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.http import HttpRequest

from asks.admin import redaction
from asks.models import Gate

MOST_OPERATIONS = 100
#: How long it waited: the word in the address, what is shown, from when on and until when.
WAITS: tuple[tuple[str, str, timedelta, timedelta | None], ...] = (
    ("minutes", "under 5 minutes", timedelta(0), timedelta(minutes=5)),
    ("hour", "5 minutes to an hour", timedelta(minutes=5), timedelta(hours=1)),
    ("day", "an hour to a day", timedelta(hours=1), timedelta(days=1)),
    ("week", "a day to a week", timedelta(days=1), timedelta(days=7)),
    ("longer", "a week or longer", timedelta(days=7), None),
)


def with_waiting(verdicts: QuerySet[Any]) -> QuerySet[Any]:
    """Adds ``waited``: from the question to the decision."""
    waited = ExpressionWrapper(F("decided_at") - F("ask__opened_at"), DurationField())
    found: QuerySet[Any] = verdicts.annotate(waited=waited)
    return found


class WaitingFilter(admin.SimpleListFilter):
    """How long a decision waited. Since when an imported question waited, nobody knows."""

    title = "how long it waited"
    parameter_name = "waited"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(word, shown) for word, shown, *_ in WAITS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002
        chosen = next((wait for wait in WAITS if wait[0] == self.value()), None)
        if chosen is None:
            return queryset
        found = queryset.filter(ask__imported=False, waited__gte=chosen[2])
        return found if chosen[3] is None else found.filter(waited__lt=chosen[3])


class OperationFilter(admin.SimpleListFilter):
    """What the decision was about. Operations of what is confidential are neither named nor found."""

    title = "operation"
    parameter_name = "operation"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:  # noqa: ARG002
        person = cast("AbstractBaseUser", request.user)
        decided = Gate.objects.filter(ask__verdict__isnull=False)
        open_ones = decided.exclude(ask__in=redaction.hidden_from(person).order_by().values("pk"))
        names = open_ones.order_by("operation").values_list("operation", flat=True).distinct()
        return [(name, name) for name in names[:MOST_OPERATIONS]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002
        if self.value() is None:
            return queryset
        return queryset.filter(ask__gate__operation=self.value(), is_hidden=False)
