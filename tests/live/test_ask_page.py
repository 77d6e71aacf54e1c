"""The page of one ask over a socket: it follows its ask, whoever may answer it."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import Agent
from asks import answering, withdrawing
from asks.claiming import claim_ask
from tests.live import world
from tests.live.conftest import Connect
from tests.pages import world as asking

asked, login_of = sync_to_async(asking.asked), sync_to_async(world.login_of)


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return asking.agent_of(owner, colleague)


async def test_it_settles_when_somebody_else_withdraws(
    connect: Connect, agent: Agent, colleague: User, login: str
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/asks/{ask.pk}/?have=ask-{ask.pk}.{ask.card_version}", login)
    assert await socket.is_silent()
    await sync_to_async(withdrawing.withdraw_ask)(ask_id=ask.pk, by=colleague, reason="Done.")
    message = await socket.message()
    assert f'id="ask-{ask.pk}"' in message
    assert "withdrew the question" in message
    assert await socket.is_silent()


async def test_it_shows_a_claim_without_touching_the_form(
    connect: Connect, agent: Agent, colleague: User, login: str
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/asks/{ask.pk}/?have=ask-{ask.pk}.{ask.card_version}", login)
    assert await socket.is_silent()
    await sync_to_async(claim_ask)(ask_id=ask.pk, by=colleague)
    message = await socket.message()
    assert f"ask-{ask.pk}-rules" in message
    assert "<textarea" not in message


async def test_another_ask_does_not_concern_it(
    connect: Connect, agent: Agent, owner: User, login: str
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/asks/{ask.pk}/?have=ask-{ask.pk}.{ask.card_version}", login)
    assert await socket.is_silent()
    other = await asked(await sync_to_async(asking.agent_of)(owner, slug="second"))
    await sync_to_async(answering.answer_ask)(ask_id=other.pk, by=owner, option="eu")
    assert await socket.is_silent()


async def test_a_stranger_learns_nothing(connect: Connect, agent: Agent, stranger: User) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/asks/{ask.pk}/?have=ask-{ask.pk}.9", await login_of(stranger))
    message = await socket.message()
    assert f'<div id="ask-{ask.pk}" hx-swap-oob="delete">' in message
    assert "ledger" not in message
