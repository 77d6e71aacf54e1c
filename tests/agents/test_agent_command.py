"""`manage.py agent` mends an agent as its page does, with a record of who did it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from agents.models import Agent
from asks.models import LedgerRecord
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("agent", *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def sorter(owner: User, tmp_path: Path) -> Agent:
    folder = str(tmp_path)
    run("add", "sorter", "--owner", "olga", "--cwd", folder, "--env", "KEY=hunter2", "--", "true")
    return Agent.objects.get()


def last_record() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(LedgerRecord.objects.latest("at").body)
    return facts


def test_a_typo_is_refused_unless_it_is_insisted_on(owner: User) -> None:
    words = ("add", "sorter", "--owner", "olga", "--cwd", "/srv/nowhere", "--", "true")
    with pytest.raises(CommandError, match=r"no folder /srv/nowhere.*\n.*--insist"):
        run(*words)
    assert not Agent.objects.exists()
    run(*words[:-2], "--insist", "--", "true")
    with pytest.raises(CommandError, match="could not start here"):
        run("check", "sorter")


def test_editing(sorter: Agent, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    run(
        "edit", "sorter", "--by", "olga", "--mission", "Sort.", "--cwd", str(other), "--every", "60"
    )
    sorter.refresh_from_db()
    assert (sorter.mission, sorter.settings["cwd"]) == ("Sort.", str(other))
    assert sorter.settings["env"] == {"KEY": "hunter2"}
    assert sorter.wake_policy == {"kind": "schedule", "every_seconds": 60}
    assert last_record()["actor"] == "human:olga"
    assert "as it was" in run("edit", "sorter", "--by", "olga", "--mission", "Sort.")
    run("edit", "sorter", "--by", "olga", "--manual", "--env", "MORE=1", "--command", "cat -n")
    sorter.refresh_from_db()
    assert sorter.settings["command"] == ["cat", "-n"]
    assert sorter.settings["env"] == {"KEY": "hunter2", "MORE": "1"}
    assert sorter.wake_policy == {"kind": "manual"}
    run("edit", "sorter", "--by", "olga", "--runtime", "leaf")
    assert Agent.objects.get().runtime == "leaf"


def test_what_is_wrong_is_one_sentence(sorter: Agent) -> None:
    for words in (
        ("edit", "sorter", "--by", "nobody", "--mission", "x"),
        ("edit", "missing", "--by", "olga"),
        ("edit", "sorter", "--by", "olga", "--options", "{"),
        ("edit", "sorter", "--by", "olga", "--options", '{"colour": 1}'),
        ("owners", "sorter", "--by", "olga", "--remove", "olga"),
        ("owners", "sorter", "--by", "olga", "--add-group", "missing"),
        ("resume", "sorter-missing", "--by", "olga"),
    ):
        with pytest.raises(CommandError):
            run(*words)


def test_no_secret_is_printed(sorter: Agent) -> None:
    assert "hunter2" not in run("show", "sorter")
    assert json.loads(run("show", "sorter"))["owners"] == ["olga"]
    assert "could start here" in run("check", "sorter")


def test_its_life(sorter: Agent) -> None:
    Agent.objects.update(lifecycle="active")
    for verb, state in (
        ("pause", "paused"),
        ("resume", "active"),
        ("retire", "retired"),
        ("restore", "paused"),
    ):
        run(verb, "sorter", "--by", "olga")
        assert Agent.objects.get().lifecycle == state
        assert last_record()["facts"]["changed"]["lifecycle"][1] == state
        with pytest.raises(CommandError):
            run(verb, "sorter", "--by", "olga")


def test_owners_and_handing_over(sorter: Agent) -> None:
    gina, _ = UserFactory(username="gina"), UserFactory(username="hal")
    gina.groups.add(Group.objects.create(name="finance"))
    assert "gina, olga" in run("owners", "sorter", "--by", "olga", "--add-group", "finance")
    assert "took over sorter" in run("hand-over", "--from", "olga", "--to", "hal", "--by", "gina")
    assert set(sorter.owners.values_list("username", flat=True)) == {"gina", "hal"}
