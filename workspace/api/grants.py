"""Grants over the API: list what agents may do once, and take it back."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q, QuerySet

from asks import refusals
from asks.actions import taking_back
from asks.answers import Answer
from asks.models import Grant
from asks.refusals import Refused
from workspace.accounts import api_keys
from workspace.api import asks, shapes
from workspace.api.door import Call
from workspace.api.problems import problem_of_refusal
from workspace.models import ApiKey

MOST = 200


def list_grants(call: Call) -> shapes.GrantList:
    """Return the live grants that a key reaches, oldest first."""
    query: shapes.GrantQuery = call.query
    found = _grants_of(call.key)
    if query.session is not None:
        found = found.filter(session=query.session)
    live = taking_back.live_grants(found)[:MOST]
    return shapes.GrantList(grants=[_shape(grant) for grant in live])


def post_withdrawal(call: Call) -> shapes.GrantShape:
    """Take a grant back as the key's person. Repeating it returns the same."""
    person, grant_id = asks.person_of(call.key), call.ids["grant_id"]
    attempt = Answer(by=person, via="api")
    if not _grants_of(call.key).filter(pk=grant_id).exists():
        with transaction.atomic():
            refused = refusals.record_refusal(
                refusals.not_found(), attempt, ask=None, ask_ref=f"grant {grant_id}"
            )
        raise problem_of_refusal(refused)
    done = taking_back.take_back(grant_id=grant_id, by=person, via="api")
    if isinstance(done, Refused):
        raise problem_of_refusal(done)
    return _shape(done)


def _grants_of(key: ApiKey) -> QuerySet[Grant]:
    """Return the grants that a key reaches. Those of confidential asks need a person who sees them."""
    of_agents = Grant.objects.filter(session__agent__in=api_keys.agents_of(key))
    readable = Q(ask=None) | Q(ask__confidential=False) | Q(ask__in=asks.asks_of(key))
    if key.person is None:
        return of_agents.filter(Q(ask=None) | Q(ask__in=asks.asks_of(key)))
    mine = taking_back.grants_of(key.person).filter(readable)
    return mine.filter(session__agent=key.agent_id) if key.agent_id else mine


def _shape(grant: Grant) -> shapes.GrantShape:
    return shapes.GrantShape(
        id=grant.pk,
        session=grant.session_id,
        ask=grant.ask_id,
        operation=grant.operation,
        params=grant.params,
        state=grant.state,
        end=grant.end,
        made_at=grant.made_at,
        expires_at=grant.expires_at,
        ended_at=grant.ended_at,
    )
