"""Cards that wait on a group, on a delegate, on whom they are escalated to; and what moves on them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection, transaction

from agents.db.expressions import database_now
from agents.models import Agent
from asks import answering, claiming, delegation
from asks.deadlines.extension import extend_deadline
from asks.deadlines.nudges import send_due_nudges
from asks.models import Ask, Delegation, Nudge
from tests.factories import AgentFactory, echo_of, home_of
from tests.live import world
from tests.live.conftest import Connect
from tests.policies.world import asked, group_of, in_force
from workspace.live import listener

login_of = sync_to_async(world.login_of)
GROUP = {"answered_by": "group:board"}


@pytest.fixture
def member(owner: User) -> User:
    person = world.person("bea")
    group_of("board", person)
    return person


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return AgentFactory(slug="treasury", owners=[owner, colleague])


@sync_to_async
def ask_under(agent: Agent, **terms: Any) -> Ask:
    if terms:
        in_force(agent, {"operation": "refund"}, **terms)
    return asked(home_of(agent))


@sync_to_async
def delegate(by: User, to: User) -> Delegation:
    return delegation.create_delegation(
        by=by, to=to, ends_at=database_now() + timedelta(days=1), reason="Away"
    )


@sync_to_async
def answer(ask: Ask, by: User) -> None:
    answering.answer_ask(ask_id=ask.pk, by=by, option="approve", echo=echo_of(ask))


async def test_a_card_comes_to_the_members_of_its_group_and_goes(
    connect: Connect, agent: Agent, member: User
) -> None:
    socket = await connect("/ws/queue/?have=", await login_of(member))
    ask = await ask_under(agent, **GROUP)
    assert f'id="ask-{ask.pk}"' in await socket.message()
    await answer(ask, member)
    assert "data-open tabindex" not in await socket.message()


async def test_owners_who_do_not_answer_it_see_no_card(
    connect: Connect, agent: Agent, owner: User, member: User
) -> None:
    del member
    socket = await connect("/ws/queue/?have=", await login_of(owner))
    await ask_under(agent, **GROUP)
    assert await socket.is_silent()


@pytest.mark.parametrize("in_a_group", [False, True])
async def test_a_card_comes_to_a_delegate_and_goes(
    connect: Connect, agent: Agent, owner: User, member: User, stranger: User, in_a_group: bool
) -> None:
    await delegate(member if in_a_group else owner, stranger)
    socket = await connect("/ws/queue/?have=", await login_of(stranger))
    ask = await ask_under(agent, **(GROUP if in_a_group else {}))
    assert f'id="ask-{ask.pk}"' in await socket.message()
    await answer(ask, member if in_a_group else owner)
    assert "data-open tabindex" not in await socket.message()


async def test_cards_come_with_a_delegation_and_go_with_it(
    connect: Connect, agent: Agent, owner: User, stranger: User
) -> None:
    ask = await ask_under(agent)
    socket = await connect("/ws/queue/?have=", await login_of(stranger))
    made = await delegate(owner, stranger)
    assert f'id="ask-{ask.pk}"' in await socket.message()
    await sync_to_async(delegation.revoke_delegation)(delegation_id=made.pk, by=owner)
    assert f'id="ask-{ask.pk}" hx-swap-oob="delete"' in await socket.message()


async def test_cards_come_with_a_membership_and_go_with_it(
    connect: Connect, agent: Agent, member: User, stranger: User
) -> None:
    ask = await ask_under(agent, **GROUP)
    socket = await connect("/ws/queue/?have=", await login_of(stranger))
    group = await sync_to_async(member.groups.get)()
    await sync_to_async(group.user_set.add)(stranger)
    assert f'id="ask-{ask.pk}"' in await socket.message()
    await sync_to_async(stranger.groups.clear)()
    assert f'id="ask-{ask.pk}" hx-swap-oob="delete"' in await socket.message()


async def test_a_claim_is_shown_to_others_without_touching_what_they_type(
    connect: Connect, agent: Agent, owner: User, colleague: User
) -> None:
    ask = await ask_under(agent)
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}.0", await login_of(colleague))
    await sync_to_async(claiming.claim_ask)(ask_id=ask.pk, by=owner)
    message = await socket.message()
    assert "Claimed by olga" in message
    assert "Take it over" in message
    assert 'data-version="1"' in message
    assert f'id="ask-{ask.pk}"' not in message, "the card with its fields stays"
    await sync_to_async(claiming.release_ask)(ask_id=ask.pk, by=owner)
    message = await socket.message()
    assert "Claimed by" not in message
    assert await socket.is_silent()


async def test_a_claim_made_while_the_socket_was_gone(
    connect: Connect, agent: Agent, owner: User, colleague: User
) -> None:
    ask = await ask_under(agent)
    await sync_to_async(claiming.claim_ask)(ask_id=ask.pk, by=owner)
    have = f"/ws/queue/?have=ask-{ask.pk}.0"
    assert "Claimed by olga" in await (await connect(have, await login_of(colleague))).message()
    same = await connect(f"/ws/queue/?have=ask-{ask.pk}.1", await login_of(colleague))
    assert await same.is_silent()


async def test_more_time_is_shown_to_others(
    connect: Connect, agent: Agent, owner: User, colleague: User
) -> None:
    ask = await ask_under(agent, expires_after="PT1H")
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}.0", await login_of(colleague))
    longer = await sync_to_async(extend_deadline)(ask_id=ask.pk, by=owner)
    assert isinstance(longer, Ask)
    assert longer.expires_at is not None
    message = await socket.message()
    assert f'id="ask-{ask.pk}-until"' in message
    assert longer.expires_at.isoformat() in message


async def test_votes_are_shown_as_they_come(
    connect: Connect, agent: Agent, owner: User, colleague: User
) -> None:
    ask = await ask_under(agent, quorum=2)
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}.0", await login_of(colleague))
    await answer(ask, owner)
    assert "olga voted: Approve once" in await socket.message()


async def test_an_escalation_brings_the_card_to_those_who_may_answer_now(
    connect: Connect, agent: Agent, owner: User, member: User
) -> None:
    escalated = {"escalate_after": "PT1H", "escalate_to": "group:board"}
    ask = await ask_under(agent, **escalated, escalated_may_answer=True)
    socket = await connect("/ws/queue/?have=", await login_of(member))
    owners = await connect(f"/ws/queue/?have=ask-{ask.pk}.0", await login_of(owner))
    assert await socket.is_silent()
    await sync_to_async(Nudge.objects.update)(due_at=ask.opened_at)
    await sync_to_async(send_due_nudges)()
    assert f'id="ask-{ask.pk}"' in await socket.message()
    assert "the group board may answer this too" in await owners.message()


@pytest.mark.parametrize("who", ["member", "delegate", "owner"])
async def test_lost_hints_are_made_up_for(
    connect: Connect,
    agent: Agent,
    owner: User,
    member: User,
    stranger: User,
    monkeypatch: pytest.MonkeyPatch,
    who: str,
) -> None:
    monkeypatch.setattr(listener, "SAFETY", 0.1)
    await delegate(member, stranger)
    terms = {} if who == "owner" else GROUP
    ask = await ask_under(agent, **terms)
    person = {"member": member, "delegate": stranger, "owner": owner}[who]
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}.0", await login_of(person))
    assert await socket.is_silent()

    @sync_to_async
    def claimed_silently() -> None:
        with transaction.atomic():
            claiming.claim_ask(ask_id=ask.pk, by=person)
            connection.run_on_commit.clear()

    await claimed_silently()
    assert f"Claimed by {person.username}" in await socket.message()
