"""The badge of a page without the queue: it says how many cards wait, whatever the page shows."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import Agent
from asks import answering
from asks.models import Ask
from tests.live import world
from tests.live.conftest import Connect
from tests.pages import world as asking

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return asking.agent_of(owner, colleague)


@sync_to_async
def asked(agent: Agent) -> Ask:
    return asking.asked(agent)


@sync_to_async
def answer(ask: Ask, by: User) -> None:
    answering.answer_ask(ask_id=ask.pk, by=by, option="eu")


async def test_it_follows_what_waits_and_carries_no_card(
    connect: Connect, agent: Agent, owner: User, login: str
) -> None:
    socket = await connect("/ws/badge/?shown=0", login)
    ask = await asked(agent)
    message = await socket.message()
    assert 'id="needs-badge" data-count="1" hx-swap-oob="true"' in " ".join(message.split())
    assert 'id="needs-badge-tab"' in message
    assert "article" not in message
    await answer(ask, owner)
    assert 'data-count="0"' in await socket.message()
    assert await socket.is_silent()


@pytest.mark.parametrize(("shown", "told"), [("1", False), ("0", True), ("", True), ("x", True)])
async def test_a_page_is_told_only_what_it_does_not_show(
    connect: Connect, agent: Agent, login: str, shown: str, told: bool
) -> None:
    await asked(agent)
    socket = await connect(f"/ws/badge/?shown={shown}", login)
    if told:
        assert 'data-count="1"' in await socket.message()
    assert await socket.is_silent()


async def test_what_waits_on_others_is_not_counted(
    connect: Connect, agent: Agent, stranger: User
) -> None:
    socket = await connect("/ws/badge/?shown=0", await sync_to_async(world.login_of)(stranger))
    await asked(agent)
    assert await socket.is_silent()
