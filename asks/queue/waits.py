"""Say whom a session waits for, to a reader who may not answer."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from agents.models import Agent
from asks import access
from asks.lifecycle import AskStatus, Meaning
from asks.models import Ask, Vote
from asks.policies import terms

NAMED = 3
"""People who are named; further ones are counted as others."""


def waits_for_others(session_ids: Iterable[int], reader: AbstractBaseUser) -> dict[int, str]:
    """Return whom each session waits for, by its id, in words such as `finance, 1 of 2`.

    Leave out sessions without an open ask, and those with an ask that the reader may answer. At most
    four queries.
    """
    ids = set(session_ids)
    if not ids:
        return {}
    mine = access.asks_for(reader).filter(session__in=ids).order_by()
    theirs = ids.difference(mine.values_list("session_id", flat=True))
    if not theirs:
        return {}
    open_asks = Ask.objects.filter(session__in=theirs, status=AskStatus.OPEN)
    first: dict[int, Ask] = {}
    for ask in open_asks.select_related("answered_by", "escalated_to").order_by("opened_at", "pk"):
        first.setdefault(ask.session_id, ask)
    return dict(zip(first, whom(list(first.values())), strict=True))


def whom(asks: list[Ask]) -> list[str]:
    """Return whom each open ask waits for. At most two queries."""
    votes = _votes(asks)
    owners = _owners({ask.agent_id for ask in asks if ask.answered_by_id is None})
    return [_whom(ask, owners.get(ask.agent_id, []), votes.get(ask.pk, [])) for ask in asks]


def _votes(asks: list[Ask]) -> dict[int, list[Vote]]:
    voted_on = [ask.pk for ask in asks if terms.terms_of(ask).many_decide]
    found: dict[int, list[Vote]] = {}
    if voted_on:
        for vote in Vote.objects.filter(ask__in=voted_on):
            found.setdefault(vote.ask_id, []).append(vote)
    return found


def _owners(agent_ids: set[int]) -> dict[int, list[tuple[int, str]]]:
    """Return the ids and names of each agent's active owners."""
    if not agent_ids:
        return {}
    rows = Agent.owners.through.objects.filter(agent__in=agent_ids, user__is_active=True)
    found: dict[int, list[tuple[int, str]]] = {}
    for agent_id, person_id, name in rows.order_by("user__username").values_list(
        "agent_id", "user_id", "user__username"
    ):
        found.setdefault(agent_id, []).append((person_id, name))
    return found


def _whom(ask: Ask, owners: list[tuple[int, str]], votes: list[Vote]) -> str:
    done = {vote.voter_id for vote in votes} | {vote.principal_id for vote in votes}
    done |= set(ask.barred)
    names = [name for person_id, name in owners if person_id not in done]
    if ask.answered_by is not None:
        names = [ask.answered_by.name]
    if ask.escalated_to is not None and ask.escalated_to.name not in names:
        names.append(ask.escalated_to.name)
    people = in_words(names) or _("somebody who may answer")
    quorum = terms.terms_of(ask)
    if not quorum.many_decide:
        return people
    approvals = sum(vote.meaning != Meaning.DENY for vote in votes)
    return _("{people}, {approvals} of {needed}").format(
        people=people, approvals=approvals, needed=quorum.quorum.approvals
    )


def in_words(names: list[str]) -> str:
    """Return `ann`, `ann or mo`, `ann, mo or olivia`; the fourth is somebody else."""
    named = names if len(names) <= NAMED else [*names[:NAMED], _("somebody else")]
    if len(named) < 2:
        return "".join(named)
    return _("{people} or {last}").format(people=", ".join(named[:-1]), last=named[-1])
