"""Change who owns an agent. Somebody active always does, as far as a change of owners decides it."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser, Group, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from agents.locking import lock_agent
from agents.mending.changes import AgentChange, record_change
from agents.mending.editing import StaleEdit
from agents.models import Agent


@transaction.atomic
def change_owners(
    *,
    agent_id: int,
    by: AbstractBaseUser | None,
    add: Iterable[User] = (),
    groups: Iterable[Group] = (),
    remove: Iterable[User] = (),
    version: int | None = None,
) -> Agent:
    """Add and remove owners; return the agent. ``groups`` add the people who are in them now.

    Raises StaleEdit if ``version`` is given and not the agent's, and ValidationError if nobody active
    would be left or somebody who is added is not active.
    """
    agent = lock_agent(agent_id)
    if version is not None and version != agent.version:
        raise StaleEdit(version, agent)
    before = set(agent.owners.all())
    joining = _joining(add, groups) - before
    after = (before | joining) - set(remove)
    if after == before:
        return agent
    if not any(person.is_active for person in after):
        raise ValidationError(
            {"owners": _("An agent needs an active owner: somebody must answer for it.")}
        )
    agent.owners.add(*(after - before))
    agent.owners.remove(*(before - after))
    agent.version += 1
    agent.save(update_fields=["version"])
    names = {"owners": [_names(before), _names(after)]}
    record_change(AgentChange(agent, "owners", by, {**names}))
    return agent


def _joining(add: Iterable[User], groups: Iterable[Group]) -> set[User]:
    people = set(add)
    for person in people:
        if not person.is_active:
            words = _("{name} is deactivated and cannot own an agent.")
            raise ValidationError({"owners": words.format(name=person.get_username())})
    for group in groups:
        people |= set(User.objects.filter(groups=group, is_active=True))
    return people


def _names(people: Iterable[User]) -> list[str]:
    return sorted(person.get_username() for person in people)


def hand_over_agents(*, person: User, to: User, by: AbstractBaseUser | None) -> list[Agent]:
    """Make ``to`` an owner of each of a person's agents, in that person's place. All or nothing."""
    with transaction.atomic():
        owned = Agent.objects.filter(owners=person).order_by("pk").values_list("pk", flat=True)
        return [change_owners(agent_id=pk, by=by, add=[to], remove=[person]) for pk in list(owned)]
