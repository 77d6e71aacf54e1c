"""What ends an approval: each with how it was approved, and what is done before the turn takes it.

The keys are the rows of the table in docs/policies.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pgtrigger
from django.contrib.auth.models import User

from agents import controls, messages
from agents.db.expressions import database_now
from agents.lifecycle import Outcome
from agents.mending.editing import AgentEdit, edit_agent
from agents.models import Agent
from asks import delegation
from asks.actions import taking_back
from asks.drafts import ActionDraft
from asks.models import Grant
from asks.policies import versions
from asks.retirement import retire_agent
from tests.api.calling import Caller
from tests.factories import claim, draft, echo_of, finish, verdict_on
from tests.grants.world import World
from workspace.accounts import api_keys

Act = Callable[[World], object]
_numbers = itertools.count(1)


def _yes(world: World) -> None:
    verdict_on(world.asked, world.owner)


def _yes_by_delegate(world: World) -> None:
    stand_in = User.objects.create(username="dora")
    world.sent["delegation"] = delegation.create_delegation(
        by=world.owner, to=stand_in, ends_at=database_now() + timedelta(days=1), reason="Holidays"
    )
    verdict_on(world.asked, stand_in)


def _yes_by_key(world: World) -> None:
    name = f"phone-{next(_numbers)}"
    _, token = api_keys.create_key(name=name, scopes=["ask:answer"], person=world.owner)
    world.sent["key"] = name
    option = world.asked.options.order_by("position").first()
    assert option is not None
    body = {"option": option.key, "binding": echo_of(world.asked)}
    assert Caller(token).post(f"/api/asks/{world.asked.pk}/answer", body).status == 200


def _use_up_the_turn(world: World) -> None:
    finish(claim(world.session.runs.latest("number")), Outcome.NO_WORK)


def _write(world: World) -> None:
    messages.post_message(session_id=world.session.pk, by=world.owner, text="Do NOT do anything.")


def _stop(world: World) -> None:
    claim(world.session.runs.latest("number"))
    assert controls.stop_session(session_id=world.session.pk, by=world.colleague)


def _change_policy(world: World) -> None:
    gate = world.asked.gate
    rules = {"rules": [{"operation": gate.operation, "money_critical": True}]}
    versions.add_version(agent_id=world.agent.pk, rules=rules, why="Money.", by=world.colleague)


def _ask_again(world: World) -> None:
    gate = world.asked.gate
    action = ActionDraft(gate.operation, gate.params, files=tuple(gate.files))
    again = draft("again", prompt="May I, after all?", action=action)
    turn = claim(world.session.runs.latest("number"))
    finish(turn, Outcome.BLOCKED, asks=(again,))


def _change_file(world: World) -> None:
    (world.folder / "plan.txt").write_text("delete everything\n")


def _remove_owner(world: World) -> None:
    world.agent.owners.remove(world.owner)


def _end_delegation(world: World) -> None:
    given = world.sent["delegation"].pk
    assert delegation.revoke_delegation(delegation_id=given, by=world.owner)


def _revoke_key(world: World) -> None:
    assert api_keys.revoke_key(world.sent["key"])


def _edit(world: World) -> None:
    agent = Agent.objects.get(pk=world.agent.pk)
    edit = AgentEdit(mission="Something else entirely.")
    edit_agent(agent_id=agent.pk, version=agent.version, by=world.colleague, edit=edit)


def _let_time_pass(world: World) -> None:
    with pgtrigger.ignore("asks.Grant:what_is_granted_stays"):
        Grant.objects.filter(pk=world.grant.pk).update(expires_at=database_now())


@dataclass(frozen=True)
class End:
    """``act`` is done after ``approve``.

    ``of_tools`` is false where only a command has files, ``continues`` where nothing starts again.
    """

    act: Act
    approve: Act = _yes
    state: str = "lapsed"
    of_tools: bool = True
    continues: bool = True


ENDS: dict[str, End] = {
    "turn_over": End(_use_up_the_turn),
    "message": End(_write),
    "stopped": End(_stop),
    "ended": End(
        lambda world: retire_agent(agent_id=world.agent.pk, by=world.colleague), continues=False
    ),
    "policy": End(_change_policy),
    "asked_again": End(_ask_again),
    "files": End(_change_file, of_tools=False),
    "person": End(_remove_owner),
    "delegation": End(_end_delegation, _yes_by_delegate),
    "key": End(_revoke_key, _yes_by_key),
    "expired": End(_let_time_pass),
    "taken_back": End(
        lambda world: taking_back.take_back(grant_id=world.grant.pk, by=world.colleague),
        state="withdrawn",
    ),
    "edited": End(_edit),
}
