"""Agents that the tests define, whose tools write down each time that they run.

``EFFECTS`` is of one process. Under NEEDS_YOU_TEST_EFFECTS it is a file, for workers of their own.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from workspace.demo.eve_agents import scripted
from workspace.toolkit import (
    AgentDefinition,
    Proposal,
    ToolContext,
    ToolFailed,
    always,
    never,
    once,
    tool,
)

EFFECTS: list[tuple[str, Any]] = []
#: Who approved each shipment; empty where nobody was asked.
APPROVERS: list[str] = []


def _did(name: str, *facts: Any) -> None:
    EFFECTS.append((name, *facts))
    if path := os.environ.get("NEEDS_YOU_TEST_EFFECTS"):
        with Path(path).open("a") as file:
            file.write(f"{name} {facts}\n")


@tool(needs_approval=always())
def refund(
    charge_id: str, amount: float, currency: Literal["EUR", "USD"] = "EUR"
) -> dict[str, Any]:
    """Refund a charge."""
    _did("refund", charge_id, amount, currency)
    return {"refunded": charge_id, "amount": amount}


@tool(needs_approval=always())
def slow_refund(charge_id: str) -> str:
    """Refund a charge, and take long over it."""
    _did("slow_refund", charge_id)
    time.sleep(float(os.environ.get("NEEDS_YOU_TEST_SECONDS", "0")))
    return "refunded"


@tool(needs_approval=once())
def ship(n: int, context: ToolContext) -> str:
    _did("ship", n)
    APPROVERS.append(context.approved_by)
    return f"shipped {n}"


@tool(needs_approval=never())
async def look_up(charge_id: str, context: ToolContext) -> dict[str, Any]:
    _did("look_up", charge_id)
    return {"charge": charge_id, "agent": context.agent, "approved": context.approved}


@tool(needs_approval=lambda proposal: proposal.tool_input["amount"] > 1000)
def pay(amount: float) -> str:
    _did("pay", amount)
    return "paid"


def _broken(proposal: Proposal) -> bool:
    raise KeyError(proposal.tool_name)


@tool(needs_approval=_broken)
def guarded(n: int) -> str:
    _did("guarded", n)
    return "ran"


def _even(seats: int) -> int:
    if seats % 2:
        raise ValueError("seats are sold in pairs")
    return seats


@tool(needs_approval=always())
def book(
    day: date,
    at: datetime,
    price: Decimal,
    seats: Annotated[int, AfterValidator(_even)],
    count: int,
) -> str:
    _did("book", day, at, price, seats, count)
    return "booked"


@tool(needs_approval=always())
def refuses(n: int) -> str:
    raise ToolFailed(f"There is no charge {n}.")


@tool(needs_approval=always())
def breaks(n: int) -> str:
    _did("breaks", n)
    raise ConnectionError("reset by peer")


@tool(needs_approval=always(), seconds=0.05)
async def hangs(n: int) -> str:
    _did("hangs", n)
    await asyncio.sleep(600)
    return "never"


@tool
async def waits(seconds: float) -> str:
    _did("waits", seconds)
    await asyncio.sleep(seconds)
    return "waited"


@tool
def fails(n: int) -> str:
    raise ValueError(f"no {n}")


billing = AgentDefinition(
    instructions="You are the billing agent.",
    tools=[
        refund,
        book,
        slow_refund,
        ship,
        look_up,
        pay,
        guarded,
        refuses,
        breaks,
        hangs,
        waits,
        fails,
    ],
    model=scripted,
)
