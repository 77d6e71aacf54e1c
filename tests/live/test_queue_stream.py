"""A person's queue over a socket: cards come and go, and nothing is said twice."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection, transaction

from agents.models import Agent
from asks import answering, withdrawing
from asks.models import Ask
from tests.live import world
from tests.live.conftest import Connect
from tests.pages import world as asking
from workspace.live import listener, queue_view
from workspace.pages import fragments

asked, login_of = sync_to_async(asking.asked), sync_to_async(world.login_of)


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    return asking.agent_of(owner, colleague)


@sync_to_async
def answer(ask: Ask, by: User) -> None:
    answering.answer_ask(ask_id=ask.pk, by=by, option="eu")


async def test_a_card_comes_and_goes(
    connect: Connect, agent: Agent, owner: User, login: str
) -> None:
    socket = await connect("/ws/queue/?have=", login)
    ask = await asked(agent)
    message = await socket.message()
    assert '<div id="cards" hx-swap-oob="beforeend">' in message
    assert f'id="ask-{ask.pk}"' in message
    assert "needs-badge" in message
    await answer(ask, owner)
    message = await socket.message()
    assert f'id="ask-{ask.pk}"' in message
    assert 'hx-swap-oob="beforeend"' not in message
    assert await socket.is_silent()


async def test_what_a_page_holds_is_not_sent_again(
    connect: Connect, agent: Agent, login: str
) -> None:
    ask = await asked(agent)
    assert await (await connect(f"/ws/queue/?have=ask-{ask.pk}", login)).is_silent()


@pytest.mark.case("C98")
async def test_what_changed_while_the_socket_was_gone(
    connect: Connect, agent: Agent, owner: User, login: str
) -> None:
    before = await asked(agent)
    await answer(before, owner)
    other = await sync_to_async(asking.agent_of)(owner, slug="second")
    now = await asked(other)
    message = await (await connect(f"/ws/queue/?have=ask-{before.pk}", login)).message()
    assert f'id="ask-{before.pk}"' in message
    assert f'id="ask-{now.pk}"' in message


@pytest.mark.parametrize(
    "have", ["ask-999999", "ask-x,session-,,%00", "ask-1," * 600, "%3Cscript%3E"]
)
async def test_cards_that_a_page_made_up(
    connect: Connect, agent: Agent, login: str, have: str
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/queue/?have={have}", login)
    message = await socket.message()
    assert f'id="ask-{ask.pk}"' in message
    assert "<script" not in message
    assert await socket.is_silent()


async def test_both_owners_see_a_card_go_whoever_answers(
    connect: Connect, agent: Agent, owner: User, colleague: User
) -> None:
    ask = await asked(agent)
    have = f"/ws/queue/?have=ask-{ask.pk}"
    sockets = [await connect(have, await login_of(each)) for each in (owner, colleague, owner)]
    await answer(ask, colleague)
    for socket in sockets:
        assert f'id="ask-{ask.pk}"' in await socket.message()


async def test_a_stranger_hears_nothing_of_it(
    connect: Connect, agent: Agent, stranger: User
) -> None:
    socket = await connect("/ws/queue/", await login_of(stranger))
    await asked(agent)
    assert await socket.is_silent()


async def test_a_withdrawn_ask_goes_too(
    connect: Connect, agent: Agent, owner: User, login: str
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}", login)
    await sync_to_async(withdrawing.withdraw_ask)(
        ask_id=ask.pk, by=owner, reason="not needed", via="page"
    )
    assert f'id="ask-{ask.pk}"' in await socket.message()


async def test_a_card_goes_with_the_ownership(
    connect: Connect, agent: Agent, colleague: User
) -> None:
    ask = await asked(agent)
    socket = await connect(f"/ws/queue/?have=ask-{ask.pk}", await login_of(colleague))
    await sync_to_async(agent.owners.remove)(colleague)
    assert f'id="ask-{ask.pk}"' in await socket.message()


async def test_many_pages_of_a_person_cost_one_reading(
    connect: Connect, agent: Agent, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets = [await connect("/ws/queue/", login) for _ in range(6)]
    assert all(await asyncio.gather(*(socket.is_silent() for socket in sockets)))
    readings: list[frozenset[str]] = []

    def counted(person: User, have: frozenset[str]) -> fragments.Changes:
        readings.append(have)
        return fragments.queue_changes(person, have)

    monkeypatch.setattr(queue_view, "queue_changes", counted)
    ask = await asked(agent)
    for socket in sockets:
        assert f'id="ask-{ask.pk}"' in await socket.message()
    assert all(await asyncio.gather(*(socket.is_silent() for socket in sockets)))
    # Once with the cards before, once with those after. The hint may come in the middle of either.
    assert set(readings) == {frozenset(), frozenset({f"ask-{ask.pk}.0"})}
    assert len(readings) <= 4


async def test_a_lost_hint_is_made_up_for(
    connect: Connect, agent: Agent, login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "SAFETY", 0.1)
    socket = await connect("/ws/queue/", login)
    assert await socket.is_silent()

    @sync_to_async
    def asked_silently() -> Ask:
        with transaction.atomic():
            ask = asking.asked(agent)
            connection.run_on_commit.clear()
        return ask

    ask = await asked_silently()
    assert f'id="ask-{ask.pk}"' in await socket.message()
