"""Whether logins and rights still hold: asked for many sockets at once, never for one at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as Login
from django.db.models import Count, Max, Sum
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from agents.lifecycle import Status
from agents.models import Session
from asks import access
from asks.lifecycle import AskStatus
from asks.models import Ask

_UNUSABLE = ""


def people(keys: Iterable[str]) -> dict[str, User]:
    """Who each login signs in, by session key; logins that ended are left out. Two queries.

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
    """Whether the login was made with the password that the user has now."""
    signed = str(claim.get(HASH_SESSION_KEY, _UNUSABLE))
    valid = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(signed, digest) for digest in valid)


def still_seen(person: User, session_ids: Iterable[int]) -> set[int]:
    """Those of the sessions that a person may (still) see."""
    mine = access.sessions_of(person).filter(pk__in=set(session_ids))
    return set(mine.values_list("pk", flat=True))


def last_seq_seen_by(person: User, session_id: int) -> int | None:
    """The number of a session's newest event, for a person who may see it."""
    mine = access.sessions_of(person).filter(pk=session_id)
    return mine.values_list("last_seq", flat=True).first()


def last_seqs(session_ids: Iterable[int]) -> dict[int, int]:
    """The number of each session's newest event, in one query."""
    rows = Session.objects.filter(pk__in=set(session_ids)).values_list("pk", "last_seq")
    return dict(rows)


def queue_marks(user_ids: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """A mark per person that differs once their queue does, in two queries for everybody."""
    asks = Ask.objects.filter(status=AskStatus.OPEN, agent__owners__in=user_ids)
    blocked = Session.objects.filter(status=Status.BLOCKED, open_asks=0, agent__owners__in=user_ids)
    marks: dict[int, tuple[Any, ...]] = dict.fromkeys(user_ids, ())
    for rows in (asks, blocked):
        grouped = rows.values_list("agent__owners").annotate(Count("pk"), Sum("pk"), Max("pk"))
        for user_id, *mark in grouped.order_by():
            marks[user_id] += (rows.model.__name__, *mark)
    return marks
