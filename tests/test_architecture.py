"""docs/architecture.md is true: its paths exist, and its steps for a new protocol work as printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from agents import controls, registration
from agents.lifecycle import AgentState, RunStatus
from agents.models import Event, Run, Session
from agents.running import runtime
from asks import answering
from asks.models import Ask
from tests import factories
from tests.leaf.world import play
from workspace.local.state import PROJECT

PAGE = (PROJECT / "docs" / "architecture.md").read_text()
PATHS = re.findall(r"^### (From .*|Where .*)\n\n((?:.+\n)+)", PAGE, re.MULTILINE)


@pytest.fixture
def toy_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Steps 1 and 2: the printed code is a module, registered under its key by its dotted path."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "toy_protocol.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "toy_protocol", raising=False)
    monkeypatch.setattr(runtime, "_to_load", {**runtime._to_load, "toy": "toy_protocol.ToyRuntime"})
    monkeypatch.setattr(runtime, "_runtimes", dict(runtime._runtimes))
    return "toy"


def carry_run(session: Session) -> Run:
    """Carry the session's queued run to its end, as the worker does."""
    turn = factories.claim(Run.objects.get(session=session, status=RunStatus.QUEUED))
    last = play(turn, runtime.find_runtime(turn.agent.runtime))[-1]
    assert isinstance(last, runtime.Ended)
    return factories.finish(turn, last.outcome, asks=last.asks)


@pytest.mark.django_db
def test_a_toy_protocol_asks_and_continues(toy_runtime: str) -> None:
    owner = User.objects.create_user("olga")
    agent = registration.register_agent(
        slug="walker",
        owners=[owner],
        runtime_key=toy_runtime,
        settings={"question": "Which way?"},
        lifecycle=AgentState.ACTIVE,
    )
    session = Session.objects.get(agent=agent)
    controls.start_session(session_id=session.pk, by=owner)

    run = carry_run(session)
    assert (run.status, run.error) == (RunStatus.WAITING_HUMAN, "")
    ask = Ask.objects.get()
    assert (ask.prompt, [option.key for option in ask.options.all()]) == (
        "Which way?",
        ["left", "right"],
    )
    answering.answer_ask(ask_id=ask.pk, by=owner, option="right")

    assert carry_run(session).status == RunStatus.COMPLETED
    assert Event.objects.get(session=session, kind="report").text == "Going right."


@pytest.mark.django_db
def test_settings_of_a_toy_agent_are_checked(toy_runtime: str) -> None:
    owner = User.objects.create_user("olga")
    with pytest.raises(ValidationError, match="question"):
        registration.register_agent(
            slug="walker", owners=[owner], runtime_key=toy_runtime, settings={}
        )


@pytest.mark.parametrize(("title", "steps"), PATHS)
def test_a_path_through_the_code_takes_six_files_at_most(title: str, steps: str) -> None:
    files = re.findall(r"\]\((?:\.\./)?([^)]+)\)", steps)
    assert 3 <= len(files) <= 6
    assert len(PATHS) == 3


def test_the_links_lead_somewhere() -> None:
    links = set(re.findall(r"\]\(([^)#:]+)\)", PAGE))
    assert len(links) > 20
    assert {link for link in links if not (PROJECT / "docs" / link).exists()} == set()


def test_the_modules_of_the_story_exist() -> None:
    table = re.findall(r"^\| `(\w+)` \| .* \| (.+) \|$", PAGE, re.MULTILINE)
    named = {app: re.findall(r"`(\w+)`", cell) for app, cell in table}
    assert set(named) == {"agents", "asks", "workspace"}
    for app, names in named.items():
        for name in names:
            place = PROJECT / app / name
            assert place.is_dir() or place.with_suffix(".py").exists(), place
