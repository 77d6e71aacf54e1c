"""Check logins and rights for many sockets at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from agents.lifecycle import Status
from agents.models import Session
from asks import access
from asks.lifecycle import AskStatus
from asks.models import Ask, Delegation
from asks.queue.queries import FAILING

_UNUSABLE = ""


def people_by_login(keys: Iterable[str]) -> dict[str, User]:
    """Return the user of each live login by session key. Two queries.

    The same rules as django.contrib.auth.get_user: expiry, a user who was deactivated or deleted,
    and a password that has changed since.
    """
    stored = Login.objects.filter(session_key__in=set(keys), expire_date__gt=timezone.now())
    claims = {login.session_key: login.get_decoded() for login in stored}
    users = User.objects.in_bulk({_user_id(claim) for claim in claims.values()} - {None})
    found = {key: users.get(_user_id(claim) or 0) for key, claim in claims.items()}
    return {
        key: user
        for key, user in found.items()
        if user is not None and user.is_active and _signed_with(user, claims[key])
    }


def _user_id(claim: dict[str, Any]) -> int | None:
    number = str(claim.get(SESSION_KEY, _UNUSABLE))
    return int(number) if claim.get(BACKEND_SESSION_KEY) and number.isdecimal() else None


def _signed_with(user: User, claim: dict[str, Any]) -> bool:
    """Whether the login was made with the user's present password."""
    signed = str(claim.get(HASH_SESSION_KEY, _UNUSABLE))
    valid = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(signed, digest) for digest in valid)


def sessions_seen_by(person: User, session_ids: Iterable[int]) -> set[int]:
    """Return the ids of the sessions that a person may see."""
    mine = access.sessions_of(person).filter(pk__in=set(session_ids))
    return set(mine.values_list("pk", flat=True))


def last_seq_seen_by(person: User, session_id: int) -> int | None:
    """Return the seq of a session's newest event; None if the person may not see it."""
    mine = access.sessions_of(person).filter(pk=session_id)
    return mine.values_list("last_seq", flat=True).first()


def last_seqs(session_ids: Iterable[int]) -> dict[int, int]:
    """Return the seq of each session's newest event. One query."""
    rows = Session.objects.filter(pk__in=set(session_ids)).values_list("pk", "last_seq")
    return dict(rows)


def queue_marks(user_ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Return a mark per person that changes with their queue. Five queries for everybody.

    A delegate's mark includes those of the people they answer for.
    """
    names = _answered_for(user_ids)
    people = {*user_ids, *(name for some in names.values() for name in some)}
    waiting = Ask.objects.filter(status=AskStatus.OPEN)
    stuck = Session.objects.filter(Q(status=Status.BLOCKED, open_asks=0) | FAILING)
    marks: dict[int, tuple[Any, ...]] = dict.fromkeys(people, ())
    for rows, whose in (
        (waiting, "agent__owners"),
        (waiting, "answered_by__user"),
        (waiting, "escalated_to__user"),
        (stuck, "agent__owners"),
    ):
        versions = (Sum("card_version"),) if rows.model is Ask else (Count("failing_since"),)
        grouped = rows.filter(**{f"{whose}__in": people}).values_list(whose)
        counted = grouped.annotate(Count("pk"), Sum("pk"), Max("pk"), *versions)
        for user_id, *mark in counted.order_by():
            marks[user_id] += (whose, *mark)
    return {
        user_id: (marks[user_id], *(marks[name] for name in names.get(user_id, ())))
        for user_id in user_ids
    }


def _answered_for(user_ids: Collection[int]) -> dict[int, list[int]]:
    """Return whom each person answers for now, by user ids in order."""
    standing = Delegation.objects.filter(
        delegate__in=user_ids, revoked_at=None, starts_at__lte=Now(), ends_at__gt=Now()
    )
    found: dict[int, list[int]] = {}
    for delegate, delegator in standing.order_by("pk").values_list("delegate", "delegator"):
        found.setdefault(delegate, []).append(delegator)
    return found
