"""Definitions, and how they are found by their names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workspace.toolkit import AgentDefinition, BadTool, NoSuchAgent, agent_named, tool


@tool
def ping() -> str:
    return "pong"


billing = AgentDefinition(instructions="Bill.", tools=[ping])


def test_a_definition_is_found_by_its_name() -> None:
    assert agent_named("tests.toolkit.test_agents:billing") is billing
    assert billing.by_name == {"ping": ping}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(BadTool):
        AgentDefinition(tools=[ping, ping])


@pytest.mark.parametrize(
    "where",
    [
        "",
        "tests.toolkit.test_agents",
        "tests.toolkit.test_agents:",
        "tests.toolkit.test_agents:nobody",
        "tests.toolkit.test_agents:ping",
        "no.such.module:agent",
        "../x:y",
        "os;x:y",
        ".relative:x",
    ],
)
def test_what_names_no_definition(where: str) -> None:
    with pytest.raises(NoSuchAgent):
        agent_named(where)


def test_a_module_that_breaks_as_it_is_imported_names_no_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_at_import.py").write_text("raise SystemError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NoSuchAgent) as refused:
        agent_named("breaks_at_import:agent")
    assert "SystemError: broken" in str(refused.value)
    assert "breaks_at_import" not in sys.modules
