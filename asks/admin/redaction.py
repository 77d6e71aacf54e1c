"""Redact confidential asks in the admin for people who may not see them.

The admin shows that the ask exists, and who decided it, when and how. It hides the question, the action
and the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import BooleanField, Case, CharField, Model, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Concat
from django.db.models.query import ModelIterable
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.lifecycle import InboxKind
from agents.models import InboxItem
from asks import access
from asks.models import (
    Ask,
    Dropped,
    Gate,
    Grant,
    LedgerRecord,
    Option,
    Refusal,
    Retraction,
    SignedFile,
    Verdict,
    Vote,
)

if TYPE_CHECKING:
    Rows = ModelIterable[Model]
else:
    Rows = ModelIterable

WORD = gettext_noop("(confidential)")
_ACTION: Mapping[str, Any] = {"operation": WORD, "params": None, "files": {}, "action_hash": WORD}
_ANSWER: Mapping[str, Any] = {"option_label": WORD, "text": WORD, "echo": None}
#: The redacted fields of each model, and their replacement values.
CONTENT: Mapping[type[Model], Mapping[str, Any]] = {
    Ask: {
        "prompt": WORD,
        "prompt_html": WORD,
        "context": {},
        "request_key": WORD,
        "close_reason": WORD,
        "terms": {},
    },
    Option: {"key": WORD, "label": WORD, "detail": WORD},
    Gate: {**_ACTION, "schema": None},
    Verdict: {**_ANSWER, "edit": None},
    Vote: _ANSWER,
    Retraction: {"ask_then": {}},
    Refusal: {"detail": WORD, "submitted": {}},
    Grant: {**_ACTION, "request_key": WORD},
    Dropped: {"reason": WORD},
    LedgerRecord: {"body": WORD},
    SignedFile: {"name": WORD, "why": WORD},
    InboxItem: {"body": WORD, "data": {}, "source_key": WORD},
}
#: The paths from a row to its ask; an empty path is the row itself. Either path may be null.
ASKS: Mapping[type[Model], tuple[str, ...]] = {
    Ask: ("",),
    Verdict: ("ask",),
    Vote: ("ask",),
    Retraction: ("verdict__ask",),
    Refusal: ("ask",),
    Grant: ("ask",),
    Dropped: ("ask",),
    SignedFile: ("verdict__ask", "refusal__ask"),
}


def hidden_from(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the confidential asks that a person may not see."""
    visible = access.asks_of(person).values("pk")
    return Ask.objects.filter(confidential=True).exclude(pk__in=visible)


def redact_rows(rows: QuerySet[Any], person: AbstractBaseUser) -> QuerySet[Any]:
    """Annotate ``is_hidden`` for a person, and redact the hidden rows as they are loaded."""
    hidden = _hidden(rows.model, person)
    marked: QuerySet[Any] = rows.annotate(
        is_hidden=Case(When(hidden, then=True), default=False, output_field=BooleanField())
    )
    marked._iterable_class = _Discreet  # noqa: SLF001  like Django's values()
    return marked


def _hidden(model: type[Model], person: AbstractBaseUser) -> Q:
    asks = hidden_from(person)
    if model is LedgerRecord:
        chain = Concat(Value("session:"), Cast("session_id", CharField()))
        return Q(chain__in=asks.order_by().values_list(chain))
    if model is InboxItem:
        sessions = asks.order_by().values("session_id")
        return Q(kind=InboxKind.VERDICT, session__in=sessions)
    hidden = Q()
    for path in ASKS[model]:
        hidden |= Q(**{f"{path}__in" if path else "pk__in": asks.order_by().values("pk")})
    return hidden


class _Discreet(Rows):
    """Iterates over rows and redacts the hidden ones."""

    def __iter__(self) -> Iterator[Model]:
        for row in super().__iter__():
            if getattr(row, "is_hidden", False):
                redact(row)
            yield row


def redact(row: Model) -> None:
    """Replace the content of a row and of the related rows that were loaded with it."""
    for name, value in CONTENT.get(type(row), {}).items():
        row.__dict__[name] = _(value) if isinstance(value, str) else value
    for other in list(row._state.fields_cache.values()):  # noqa: SLF001  only loaded rows
        if type(other) in CONTENT and "is_redacted" not in other.__dict__:
            other.__dict__["is_redacted"] = True
            redact(other)
