"""What the audit shows of a confidential ask to people who may not see it: that it is there, who
decided, when and how; never what was asked, what was to be done, or what was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import BooleanField, Case, CharField, Model, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Concat
from django.db.models.query import ModelIterable

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
    SignedFile,
    Verdict,
    Vote,
)

if TYPE_CHECKING:
    Rows = ModelIterable[Model]
else:
    Rows = ModelIterable

WORD = "(confidential)"
_ACTION: Mapping[str, Any] = {"operation": WORD, "params": None, "files": {}, "action_hash": WORD}
_SAID: Mapping[str, Any] = {"option_label": WORD, "text": WORD, "echo": None}
#: The fields that say what it is about, and what stands in their place.
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
    Verdict: {**_SAID, "edit": None},
    Vote: _SAID,
    Refusal: {"detail": WORD, "submitted": {}},
    Grant: {**_ACTION, "request_key": WORD},
    Dropped: {"reason": WORD},
    LedgerRecord: {"body": WORD},
    SignedFile: {"name": WORD, "why": WORD},
    InboxItem: {"body": WORD, "data": {}, "source_key": WORD},
}
#: Where the ask of a row is, if it is not the row itself; of some it is one of two.
ASKS: Mapping[type[Model], tuple[str, ...]] = {
    Ask: ("",),
    Verdict: ("ask",),
    Vote: ("ask",),
    Refusal: ("ask",),
    Grant: ("ask",),
    Dropped: ("ask",),
    SignedFile: ("verdict__ask", "refusal__ask"),
}


def hidden_from(person: AbstractBaseUser) -> QuerySet[Ask]:
    """The confidential asks that a person may not see."""
    seen = access.asks_of(person).values("pk")
    return Ask.objects.filter(confidential=True).exclude(pk__in=seen)


def redact_rows(rows: QuerySet[Any], person: AbstractBaseUser) -> QuerySet[Any]:
    """The same rows, ``is_hidden`` where a person may not know what they are about: those say so."""
    hidden = _hidden(rows.model, person)
    marked: QuerySet[Any] = rows.annotate(
        is_hidden=Case(When(hidden, then=True), default=False, output_field=BooleanField())
    )
    marked._iterable_class = _Discreet  # noqa: SLF001  as Django's own values() does
    return marked


def _hidden(model: type[Model], person: AbstractBaseUser) -> Q:
    asks = hidden_from(person)
    if model is LedgerRecord:
        chain = Concat(Value("session:"), Cast("session_id", CharField()))
        return Q(chain__in=asks.order_by().values_list(chain))
    if model is InboxItem:
        sessions = asks.order_by().values("session_id")
        return Q(kind=InboxKind.VERDICT, session__in=sessions)
    found = Q()
    for path in ASKS[model]:
        found |= Q(**{f"{path}__in" if path else "pk__in": asks.order_by().values("pk")})
    return found


class _Discreet(Rows):
    """Each row as it may be shown."""

    def __iter__(self) -> Iterator[Model]:
        for row in super().__iter__():
            if getattr(row, "is_hidden", False):
                redact(row)
            yield row


def redact(row: Model) -> None:
    """Blank what a row says, and what the rows say that came with it."""
    for name, value in CONTENT.get(type(row), {}).items():
        row.__dict__[name] = value
    for other in list(row._state.fields_cache.values()):  # noqa: SLF001  what came with it
        if type(other) in CONTENT and "is_redacted" not in other.__dict__:
            other.__dict__["is_redacted"] = True
            redact(other)
