"""The turn has begun and was told of its approval; before it acts, something ends that approval."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from agents import claims, controls, messages
from agents.lifecycle import Outcome
from agents.locking import lock_session
from agents.models import Agent, Run
from agents.running.runtime import Turn
from asks import delegation
from asks.actions import grants, taking_back
from asks.actions.grants import Begun
from asks.actions.interrupted import ask_about_interrupted
from asks.answering import answer_ask
from asks.ledger import verify
from asks.models import Ask, Effect, EffectEnd, Grant, LedgerRecord, Redemption
from asks.refusals import Refused
from asks.retirement import retire_agent
from tests.factories import claim, echo_of, finish, verdict_on
from tests.grants.ends import ENDS
from tests.grants.world import World, check_it_ended, command_world
from tests.policies.world import in_force
from tests.races.racing import Beside, race
from workspace.accounts import api_keys

pytestmark = pytest.mark.django_db(transaction=True)
#: Ends that need no turn of their own.
DURING = [why for why in ENDS if why not in ("turn_over", "stopped", "asked_again")]


@pytest.fixture
def world(owner: User, colleague: User, tmp_path: Path) -> World:
    return command_world(owner, colleague, tmp_path, files=("plan.txt",))


def take(turn: Turn, command: str = "rm -rf build") -> Begun | None:
    return grants.begin_effect(
        session_id=turn.session_id,
        operation="Bash",
        params={"command": command},
        fence=turn.fence,
    )


def begun(world: World) -> Turn:
    """The turn that was told of the approval."""
    return claim(world.session.runs.latest("number"))


@pytest.mark.parametrize("why", DURING)
def test_what_ends_it_while_the_turn_runs_ends_it(why: str, world: World) -> None:
    ENDS[why].approve(world)
    turn = begun(world)
    assert world.grant.run_id == turn.run_id
    ENDS[why].act(world)
    assert take(turn) is None
    assert not Redemption.objects.exists()
    check_it_ended(world, why, ENDS[why].state)


def test_a_stop_ends_the_claim_and_the_approval(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    controls.stop_session(session_id=turn.session_id, by=world.colleague)
    assert take(turn) is None
    check_it_ended(world, "stopped")


def test_other_params_have_no_grant_and_leave_the_approved_ones_alone(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    assert take(turn, "rm -rf build ..") is None
    assert world.grant.state == "minted"
    assert take(turn) is not None


@pytest.mark.parametrize("outcome", Outcome)
def test_however_a_turn_ends_its_approval_ends_with_it(world: World, outcome: Outcome) -> None:
    verdict_on(world.asked, world.owner)
    finish(begun(world), outcome)
    assert (world.grant.state, world.grant.end) == ("lapsed", "turn_over")


def test_a_turn_that_is_returned_to_the_queue_keeps_it(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    assert claims.return_run(turn.fence)
    again = begun(world)
    assert (again.run_id, again.epoch) == (turn.run_id, turn.epoch + 1)
    assert take(turn) is None, "its claim is lost"
    assert take(again) is not None


def test_a_turn_that_is_cancelled_instead_of_returned_loses_it(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    controls.pause_agent(agent_id=world.agent.pk, by=world.colleague)
    assert claims.return_run(turn.fence)
    controls.resume_agent(agent_id=world.agent.pk, by=world.colleague)
    again = begun(world)
    assert again.run_id != turn.run_id
    assert take(again) is None
    check_it_ended(world, "turn_over")


def test_a_worker_killed_between_taking_and_acting_repeats_nothing(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    assert take(turn) is not None
    Run.objects.filter(pk=turn.run_id).update(lease_until=Now())
    again = claim(Run.objects.get(pk=turn.run_id), worker="another")
    assert take(again) is None
    assert ask_about_interrupted() == 1
    assert Effect.objects.get().end == EffectEnd.UNKNOWN
    assert world.grant.state == "used"
    verdict_on(Ask.objects.latest("pk"), world.owner, option="did-not-happen")
    finish(again)
    world.start()
    assert not world.acted()
    verify.verify_ledger()


def test_of_two_workers_that_wait_for_each_other_one_acts(world: World) -> None:
    """Both claims are of the same epoch: a worker whose threads race, seen waiting by PostgreSQL."""
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    with transaction.atomic():
        lock_session(turn.session_id)
        both = [Beside(partial(take, turn)) for _ in range(2)]
        for one in both:
            one.wait_until_blocked()
    found = [one.result() for one in both]
    assert sum(one is not None for one in found) == 1
    assert Redemption.objects.count() == 1


def test_a_worker_whose_claim_was_taken_over_does_not_act(world: World) -> None:
    verdict_on(world.asked, world.owner)
    late = begun(world)
    Run.objects.filter(pk=late.run_id).update(lease_until=Now())
    again = claim(Run.objects.get(pk=late.run_id), worker="another")
    assert take(late) is None
    assert take(again) is not None
    assert Redemption.objects.get().epoch == again.epoch


def _deactivate(world: World) -> None:
    User.objects.filter(pk=world.owner.pk).update(is_active=False)


FIRST = {
    "message": lambda world: messages.post_message(
        session_id=world.session.pk, by=world.owner, text="Wait."
    ),
    "taken_back": lambda world: taking_back.take_back(grant_id=world.grant.pk, by=world.colleague),
    "stopped": lambda world: controls.stop_session(session_id=world.session.pk, by=world.owner),
    "ended": lambda world: retire_agent(agent_id=world.agent.pk, by=world.colleague),
    "policy": lambda world: in_force(world.agent, {"operation": "Bash", "approval": "always"}),
    "person": lambda world: world.agent.owners.remove(world.owner),
    "person, deactivated": _deactivate,
    "delegation": lambda world: delegation.revoke_delegation(
        delegation_id=world.sent["delegation"].pk, by=world.owner
    ),
    "key": lambda world: api_keys.revoke_key(world.sent["key"]),
}


@pytest.mark.parametrize("first", FIRST)
def test_who_takes_it_waits_for_what_is_about_to_end_it(first: str, world: World) -> None:
    """On two connections: the end is done and not committed, and the taker is seen waiting for it."""
    why = first.partition(",")[0]
    ENDS[why].approve(world)
    turn = begun(world)
    raced = race(partial(FIRST[first], world), partial(take, turn))
    assert raced.second is None
    assert not Redemption.objects.exists()
    check_it_ended(world, why, ENDS[why].state)


def test_what_was_taken_is_not_taken_back(world: World) -> None:
    verdict_on(world.asked, world.owner)
    turn = begun(world)
    taken = take(turn)
    assert taken is not None
    refused = taking_back.take_back(grant_id=world.grant.pk, by=world.owner)
    assert isinstance(refused, Refused)
    assert refused.http_status == 409
    assert grants.finish_effect(taken, happened=True)
    assert world.grant.state == "used"
    assert LedgerRecord.objects.filter(kind="grant_used").count() == 1
    refused = taking_back.take_back(grant_id=world.grant.pk, by=world.owner)
    assert isinstance(refused, Refused)
    verify.verify_ledger()


MOVES = ("minted", "taken", "used", "lapsed", "withdrawn")


@pytest.mark.parametrize("state", MOVES)
def test_the_database_refuses_what_a_grant_may_not_become(world: World, state: str) -> None:
    verdict_on(world.asked, world.owner)
    legal = {"minted": {"taken", "lapsed", "withdrawn"}, "taken": {"used"}}
    _bring(world.grant, state, world.owner)
    for to in MOVES:
        if to == state or to in legal.get(state, set()):
            continue
        with pytest.raises(DatabaseError), transaction.atomic():
            _move(world.grant, to, world.owner)
    with pytest.raises(DatabaseError), transaction.atomic():
        Grant.objects.filter(pk=world.grant.pk).update(action_hash="v1:another")
    with pytest.raises(DatabaseError), transaction.atomic():
        Grant.objects.all().delete()


def _bring(grant: Grant, state: str, person: User) -> None:
    steps = {"minted": [], "used": ["taken", "used"]}.get(state, [state])
    for step in steps:
        _move(grant, step, person)


def _move(grant: Grant, to: str, person: User) -> None:
    over = to in ("used", "lapsed", "withdrawn")
    Grant.objects.filter(pk=grant.pk).update(
        state=to,
        ended_at=Now() if over else None,
        end="message" if to in ("lapsed", "withdrawn") else "",
        ended_by=person if to == "withdrawn" else None,
    )


def test_a_grant_is_redeemed_only_when_it_was_taken(world: World) -> None:
    verdict_on(world.asked, world.owner)
    with pytest.raises(DatabaseError), transaction.atomic():
        Redemption.objects.create(grant=world.grant)


def test_votes_that_no_longer_count_end_what_they_approved(world: World) -> None:
    """Two must approve, and one of the two who did leaves."""
    third = User.objects.create(username="cleo")
    Agent.objects.get(pk=world.agent.pk).owners.add(third)
    in_force(world.agent, {"operation": "Bash", "quorum": 2})
    fresh = _asked_anew(world)
    for person in (world.owner, third):
        answer_ask(ask_id=fresh.pk, by=person, option="approve", echo=echo_of(fresh))
    world.asked = fresh
    turn = begun(world)
    world.agent.owners.remove(third)
    assert take(turn) is None
    check_it_ended(world, "person")


def _asked_anew(world: World) -> Ask:
    stale = answer_ask(
        ask_id=world.asked.pk, by=world.owner, option="approve", echo=echo_of(world.asked)
    )
    assert isinstance(stale, Refused)
    assert stale.replaced_by is not None
    return stale.replaced_by
