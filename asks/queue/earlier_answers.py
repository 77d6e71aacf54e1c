"""What a person answered to the same question before.

Two asks of an agent are the same question if they propose the same operation or, without an action,
have the same text and the same options. Only asks that the person may still read count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from agents.db.expressions import is_among
from agents.db.statements import Prepared
from asks import access
from asks.drafts import AskDraft
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict, Vote

Likeness = tuple[int, str]
"""An agent's id and a digest of the question (`Ask.likeness`)."""

ACTION, QUESTION = "a", "q"
"""How the digest of an operation begins, and that of a text with its options."""

NAMED = 3


@dataclass(frozen=True)
class EarlierAnswers:
    """How often a person answered a question, with which options, most frequent first, and when last.

    The option of an answer in words is empty.
    """

    options: tuple[tuple[str, int], ...]
    last: datetime

    @property
    def count(self) -> int:
        return sum(number for _option, number in self.options)

    @property
    def named(self) -> tuple[tuple[str, int], ...]:
        """The options that a card names."""
        return self.options[:NAMED]

    @property
    def others(self) -> int:
        """How many answers chose another option."""
        return sum(number for _option, number in self.options[NAMED:])


def likeness_of(draft: AskDraft, prompt: str) -> str:
    """Return the digest that the asks of the same question share. A migration computes it in SQL."""
    parts = [QUESTION, prompt, *(option.label for option in draft.options)]
    if draft.action is not None:
        parts = [ACTION, draft.action.operation]
    return parts[0] + hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:31]


def earlier_answers(
    person: AbstractBaseUser, asks: Sequence[int]
) -> dict[Likeness, EarlierAnswers]:
    """Return what a person answered before to the questions of these asks, in one query."""
    if person.pk is None or not asks:
        return {}
    found: dict[Likeness, list[tuple[str, int, datetime]]] = {}
    for agent, digest, label, number, last in _ANSWERS.rows(person.pk, list(asks)):
        found.setdefault((agent, digest), []).append((label, number, last))
    return {question: _summed(answers) for question, answers in found.items()}


def _answers(person: int, asks: list[int]) -> QuerySet[Any, Any]:
    same = {"agent": OuterRef("agent"), "likeness": OuterRef("likeness")}
    shown = Ask.objects.filter(is_among("pk", asks), **same).exclude(likeness="")
    readable = access.asks_of(User(pk=person)).filter(Exists(shown), status=AskStatus.ANSWERED)
    verdicts = Verdict.objects.filter(
        decided_by=person, ask__in=readable, ask__votes=None, retraction=None
    )
    votes = Vote.objects.filter(voter=person, ask__in=readable)
    return _counted(verdicts, "decided_at").union(_counted(votes, "cast_at"), all=True)


def _counted(answers: QuerySet[Any], moment: str) -> QuerySet[Any, Any]:
    """Count answers by question and option; the order of columns is that of a union."""
    columns = ("ask__agent_id", "ask__likeness", "option_label")
    grouped = answers.order_by().values(*columns).annotate(number=Count("pk"), last=Max(moment))
    rows: QuerySet[Any, Any] = grouped.values_list(*columns, "number", "last")
    return rows


_ANSWERS = Prepared(_answers, of=(int, list))


def _summed(answers: list[tuple[str, int, datetime]]) -> EarlierAnswers:
    counts: dict[str, int] = {}
    for label, number, _last in answers:
        counts[label] = counts.get(label, 0) + number
    by_count = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return EarlierAnswers(tuple(by_count), max(last for _label, _number, last in answers))
