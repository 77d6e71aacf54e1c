"""Create, check and revoke API keys. Only the key identifies the caller, never the body.

A key is ``ny_<prefix>_<secret>``: the public prefix finds the row, and the secret has 256 random bits.
Only the SHA-256 of the whole key is stored. Programs send ``Authorization: Bearer <key>``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone

from agents import actors
from agents.db import statements
from agents.db.statements import Prepared
from agents.models import Agent
from asks.ledger import chain, credential
from workspace.models import ApiKey, Scope

#: The precision of ``last_used_at``: a key in constant use costs one write in this time.
USED_EVERY = timedelta(minutes=5)
_BEARER = re.compile(r"\Abearer +(ny_([0-9a-f]{12})_[A-Za-z0-9_-]{43})\Z", re.IGNORECASE)
_NOBODY = "0" * 64
#: How a key is named where it approves something.
CREDENTIAL = "key:"
_HOLD = "SELECT revoked_at IS NULL FROM workspace_apikey WHERE id = %s FOR SHARE"


class KeyRefused(Exception):
    """The key of a request does not allow this.

    ``status`` is 401 without an active key (``headers`` then name the scheme) and 403 if a scope is
    missing; ``reason`` is ``no_key`` or ``scope``; ``detail`` is a sentence.
    """

    def __init__(self, status: int, reason: str, detail: str, key: ApiKey | None = None) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail, self.key = status, reason, detail, key

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Bearer realm="Needs You"'} if self.status == 401 else {}


@transaction.atomic
def create_key(
    *,
    name: str,
    scopes: Sequence[str],
    agent: Agent | None = None,
    person: User | None = None,
    created_by: User | None = None,
) -> tuple[ApiKey, str]:
    """Create a key; return it and its token, which is not stored. Raises ValidationError."""
    if person is not None and agent is not None and not _owns(person, agent):
        raise ValidationError({"person": f"{person.get_username()} does not own {agent.slug}."})
    persons = [scope.value for scope in (Scope.ASK_ANSWER, Scope.AGENT_EDIT) if scope in scopes]
    if persons and person is None:
        only = f"Only a key of a person may hold {' or '.join(persons)}."
        raise ValidationError({"scopes": only})
    prefix = secrets.token_hex(6)
    token = f"ny_{prefix}_{secrets.token_urlsafe(32)}"
    key = ApiKey(
        name=name,
        prefix=prefix,
        hash=_digest(token),
        scopes=list(dict.fromkeys(scopes)),
        agent=agent,
        person=person,
        created_by=created_by,
    )
    key.full_clean()
    key.save()
    _record("key_created", key, by=created_by)
    return key, token


@transaction.atomic
def revoke_key(name: str, *, by: User | None = None) -> bool:
    """Revoke the active key of that name at once and for good; return False if there is none."""
    key = ApiKey.objects.select_for_update().filter(name=name, revoked_at=None).first()
    if key is None:
        return False
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=Now())
    _record("key_revoked", key, by=by)
    return True


def _record(kind: str, key: ApiKey, *, by: User | None) -> None:
    names = {
        "name": key.name,
        "agent": key.agent.slug if key.agent else None,
        "person": key.person.get_username() if key.person else None,
    }
    actor = actors.human(by) if by else "system"
    chain.append_row(kind, key.pk, names=names, actor=actor)


def authenticate_key(request: HttpRequest) -> ApiKey | None:
    """Return the active key of a request with its person and agent, or None. One query."""
    match = _BEARER.match(request.headers.get("Authorization", ""))
    if match is None:
        return None
    key = _BY_PREFIX.first(match[2].lower())
    known = hmac.compare_digest(key.hash if key else _NOBODY, _digest(match[1]))
    if key is None or not known:
        return None
    _note_use(key)
    credential.act_with(f"{CREDENTIAL}{key.pk}")
    return key


def require_key(request: HttpRequest, *scopes: str) -> ApiKey:
    """Return the key of a request if it has one of the scopes. Raises KeyRefused."""
    key = authenticate_key(request)
    if key is None:
        raise KeyRefused(401, "no_key", "Send an active API key as Authorization: Bearer <key>.")
    if not set(scopes) & set(key.scopes):
        wanted = " or ".join(scopes)
        raise KeyRefused(403, "scope", f"This key lacks the scope {wanted}.", key)
    return key


authenticate_async = sync_to_async(authenticate_key)
require_async = sync_to_async(require_key)


def hold_keys(credentials: Sequence[str]) -> bool:
    """Whether all these keys are in force. Inside a transaction, they stay so until it ends."""
    numbers = sorted(int(one.removeprefix(CREDENTIAL)) for one in credentials)
    return all(statements.query(_HOLD, number) == [(True,)] for number in numbers)


def agents_of(key: ApiKey) -> QuerySet[Agent]:
    """Return the agents a key reaches: its agent, its person's agents, or what is in both."""
    agents = Agent.objects.all()
    if key.agent_id is not None:
        agents = agents.filter(pk=key.agent_id)
    if key.person_id is not None:
        agents = agents.filter(owners=key.person_id)
    return agents if key.agent_id or key.person_id else agents.none()


def key_reaches(key: ApiKey, agent: Agent) -> bool:
    """Return whether a key reaches an agent."""
    if key.agent_id is None and key.person_id is None:
        return False
    if key.agent_id not in (None, agent.pk):
        return False
    return key.person_id is None or bool(_OWNERSHIP.rows(agent.pk, key.person_id))


def agents_serving(key: ApiKey, *runtimes: str) -> list[Agent]:
    """Return the agents of these runtimes that a key reaches, oldest first."""
    if key.agent is None:
        return list(agents_of(key).filter(runtime__in=runtimes).order_by("pk"))
    served = key.agent.runtime in runtimes and key_reaches(key, key.agent)
    return [key.agent] if served else []


class AgentNotFound(LookupError):
    """A key reaches no agent of that name, or several when no name was given.

    ``served`` are the agents of the wanted runtimes that the key reaches, oldest first.
    """

    def __init__(self, served: list[Agent], slug: str) -> None:
        super().__init__(slug)
        self.served = served
        self.is_ambiguous = len(served) > 1 and not slug


def agent_for(key: ApiKey, slug: str, *runtimes: str) -> Agent:
    """Return the agent of these runtimes that a key reaches.

    An empty ``slug`` finds the only one; of several, ``slug`` names one. Raises AgentNotFound.
    """
    served = agents_serving(key, *runtimes)
    matching = [agent for agent in served if slug in ("", agent.slug)]
    if len(matching) != 1:
        raise AgentNotFound(served, slug)
    return matching[0]


_OWNERSHIP = Prepared(
    lambda agent, person: Agent.objects.filter(pk=agent, owners=person).values_list("pk"),
    of=(int, int),
)


def _active() -> QuerySet[ApiKey]:
    """Select active keys: not revoked, and not of a deactivated person."""
    of_active = Q(person__isnull=True) | Q(person__is_active=True)
    return ApiKey.objects.filter(of_active, revoked_at=None).select_related("person", "agent")


_BY_PREFIX = Prepared(lambda prefix: _active().filter(prefix=prefix), of=(str,))


def _note_use(key: ApiKey) -> None:
    if key.last_used_at is None or timezone.now() - key.last_used_at > USED_EVERY:
        ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(last_used_at=Now())


def _owns(person: User, agent: Agent) -> bool:
    return agent.owners.filter(pk=person.pk).exists()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
