"""Pages of a list that begin after a row, not at a number.

Rows come and go while somebody reads. A page that begins after the last row of the one before shows
nothing twice and skips nothing. `?page=3` still finds its place by counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode

BETWEEN = "~"
"""Between the values of a row's place, as in `after=2026-12-01T10:00:00Z~17`."""


class KeysetPage:
    """One page of rows in a total order that names no column which can be null."""

    def __init__(self, rows: QuerySet[Any], request: HttpRequest, size: int) -> None:
        self._rows, self._size = rows, size
        self._order = [str(name) for name in rows.query.order_by or rows.model._meta.ordering]
        after, before = (self._place(request.GET.get(name, "")) for name in ("after", "before"))
        if before is not None:
            self._take_before(before)
        else:
            self._take_after(after, _number(request.GET.get("page", "")))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.object_list)

    @cached_property
    def count(self) -> int:
        """The number of rows on all pages."""
        return self._rows.count()

    @property
    def has_other_pages(self) -> bool:
        return self.has_earlier or self.has_later

    @property
    def earlier(self) -> str:
        """The query string of the page before; empty on the first."""
        return self._link("before", self.object_list[:1]) if self.has_earlier else ""

    @property
    def later(self) -> str:
        """The query string of the page after; empty on the last."""
        return self._link("after", self.object_list[-1:]) if self.has_later else ""

    def _take_after(self, place: list[Any] | None, number: int) -> None:
        rows = self._rows if place is None else self._rows.filter(self._beyond(place))
        start = 0 if place is not None else (number - 1) * self._size
        found = list(rows[start : start + self._size + 1])
        if not found and start:
            return self._take_after(None, 1)
        self.object_list, self.has_later = found[: self._size], len(found) > self._size
        self.has_earlier = place is not None or start > 0
        return None

    def _take_before(self, place: list[Any]) -> None:
        rows = self._rows.filter(self._beyond(place, backwards=True)).reverse()
        found = list(rows[: self._size + 1])
        if len(found) <= self._size:  # the first page, filled up
            return self._take_after(None, 1)
        self.object_list = list(reversed(found[: self._size]))
        self.has_earlier, self.has_later = True, True
        return None

    def _beyond(self, place: list[Any], *, backwards: bool = False) -> Q:
        """Return the condition for rows after a place: greater in the first column that differs."""
        beyond, same = Q(pk__in=[]), Q()
        for name, value in zip(self._order, place, strict=True):
            column = name.removeprefix("-")
            way = "lt" if name.startswith("-") is not backwards else "gt"
            beyond |= same & Q(**{f"{column}__{way}": value})
            same &= Q(**{column: value})
        return beyond

    def _link(self, name: str, rows: list[Model]) -> str:
        return urlencode(
            {name: BETWEEN.join(_written(row, column) for row in rows for column in self._order)}
        )

    def _place(self, text: str) -> list[Any] | None:
        """Read a row's place; None if there is none or it is no place in this order."""
        parts = text.split(BETWEEN)
        if not text or len(parts) != len(self._order):
            return None
        try:
            return [
                self._read(column, part) for column, part in zip(self._order, parts, strict=True)
            ]
        except ValueError:
            return None

    def _read(self, column: str, text: str) -> object:
        bare = column.removeprefix("-")
        kind = "" if bare == "pk" else self._rows.model._meta.get_field(bare).get_internal_type()
        if kind == "DateTimeField":
            moment = parse_datetime(text)
            if moment is None or moment.tzinfo is None:
                raise ValueError(text)
            return moment
        if kind == "BooleanField":
            return text == "True"
        if kind in {"CharField", "SlugField", "TextField"}:
            if "\x00" in text:
                raise ValueError(text)
            return text
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise ValueError(text)
        return int(text)


def _written(row: Model, column: str) -> str:
    value = getattr(row, column.removeprefix("-"))
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def _number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
