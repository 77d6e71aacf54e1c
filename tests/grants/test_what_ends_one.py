"""The table "What ends an approval" of docs/policies.md, row by row: a real command and a real tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import controls
from asks.models import GrantEnd
from tests.eve.runtime.world import open_asks
from tests.grants.ends import ENDS
from tests.grants.world import World, check_it_ended, command_world, tool_world

pytestmark = pytest.mark.django_db(transaction=True)
DOCS = Path(__file__).parents[2] / "docs/policies.md"
#: What ends no approval of this version: a migration says it of older rows.
OF_OLDER_VERSIONS = {GrantEnd.UPGRADED}
Build = Callable[[], World]


@pytest.fixture
def command(owner: User, colleague: User, tmp_path: Path) -> Build:
    return lambda: command_world(owner, colleague, tmp_path, files=("plan.txt",))


@pytest.fixture
def tool(owner: User, colleague: User, tmp_path: Path) -> Build:
    return lambda: tool_world(owner, colleague, tmp_path)


def test_the_table_of_the_manual_has_a_test_for_each_row() -> None:
    part = DOCS.read_text().split("## What ends an approval")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
    assert sorted(rows) == sorted(ENDS)
    assert {*ENDS} == {*GrantEnd} - OF_OLDER_VERSIONS


@pytest.mark.parametrize("why", ENDS)
def test_a_command_may_not_run_any_more(why: str, command: Build) -> None:
    _check(command(), why)


@pytest.mark.parametrize("why", [why for why in ENDS if ENDS[why].of_tools])
def test_a_tool_may_not_run_any_more(why: str, tool: Build) -> None:
    world = tool()
    _check(world, why)
    if ENDS[why].continues:
        assert open_asks(world.session), "whoever still wants it has to ask"


def _check(world: World, why: str) -> None:
    end = ENDS[why]
    end.approve(world)
    assert world.grant.state == "minted"
    end.act(world)
    world.carry()
    if end.continues:
        controls.resume_session(session_id=world.session.pk, by=world.colleague)
        world.carry()
        world.start()
    check_it_ended(world, why, end.state)


def test_without_any_of_it_the_command_runs(command: Build) -> None:
    world = command()
    ENDS["turn_over"].approve(world)
    world.carry()
    assert world.acted()
    assert world.grant.state == "used"


def test_without_any_of_it_the_tool_runs(tool: Build) -> None:
    world = tool()
    ENDS["turn_over"].approve(world)
    world.carry()
    assert world.acted()
    assert world.grant.state == "used"
