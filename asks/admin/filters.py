"""Filters of decisions in the admin: by operation, and by the time that the ask waited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from asks.admin import redaction
from asks.models import Gate

MOST_OPERATIONS = 100
#: Ranges of waiting time: the value in the URL, the label, the minimum, and the exclusive maximum.
WAITS: tuple[tuple[str, str, timedelta, timedelta | None], ...] = (
    ("minutes", gettext_noop("under 5 minutes"), timedelta(0), timedelta(minutes=5)),
    ("hour", gettext_noop("5 minutes to an hour"), timedelta(minutes=5), timedelta(hours=1)),
    ("day", gettext_noop("an hour to a day"), timedelta(hours=1), timedelta(days=1)),
    ("week", gettext_noop("a day to a week"), timedelta(days=1), timedelta(days=7)),
    ("longer", gettext_noop("a week or longer"), timedelta(days=7), None),
)


def with_waiting(verdicts: QuerySet[Any]) -> QuerySet[Any]:
    """Annotate ``waited``: the time from the ask to the verdict."""
    waited = ExpressionWrapper(F("decided_at") - F("ask__opened_at"), DurationField())
    annotated: QuerySet[Any] = verdicts.annotate(waited=waited)
    return annotated


class WaitingFilter(admin.SimpleListFilter):
    """Filter by the time that an ask waited. It excludes imported asks, whose start is unknown."""

    title = gettext_lazy("waiting time")
    parameter_name = "waited"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(wait[0], _(wait[1])) for wait in WAITS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:  # noqa: ARG002
        chosen = next((wait for wait in WAITS if wait[0] == self.value()), None)
        if chosen is None:
            return queryset
        verdicts = queryset.filter(ask__imported=False, waited__gte=chosen[2])
        return verdicts if chosen[3] is None else verdicts.filter(waited__lt=chosen[3])


class OperationFilter(admin.SimpleListFilter):
    """Filter by operation. It neither lists nor finds hidden confidential operations."""

    title = gettext_lazy("operation")
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
