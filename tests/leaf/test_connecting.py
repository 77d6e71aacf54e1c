"""Connecting agents of leaf sessions on the command line, with settings that are checked."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agents.models import Agent

pytestmark = pytest.mark.django_db


def connect(owner: User, runtime: str, settings: object) -> Agent:
    text = settings if isinstance(settings, str) else json.dumps(settings)
    named = ["--owner", owner.get_username(), "--runtime", runtime, "--options", text]
    call_command("agent", "connect", "reviewer", *named, "--start", "--insist", verbosity=0)
    return Agent.objects.get(slug="reviewer")


def test_our_own_agent(owner: User, capsys: pytest.CaptureFixture[str]) -> None:
    agent = connect(owner, "leaf", {"model": "openai:gpt-5", "volume": "/srv/leaf/"})

    assert (agent.runtime, agent.lifecycle) == ("leaf", "active")
    assert agent.settings["volume"] == "/srv/leaf"
    assert agent.settings["max_attempts"] == 4
    assert "/agents/reviewer/" in capsys.readouterr().out


def test_somebody_elses_harness(owner: User) -> None:
    agent = connect(owner, "leaf-remote", {"base_url": "https://harness.example/"})

    assert agent.settings["base_url"] == "https://harness.example"


@pytest.mark.parametrize(
    ("runtime", "settings", "why"),
    [
        ("leaf", "{", "not JSON"),
        ("leaf", "[]", "must be a JSON object"),
        ("leaf", {"volume": "relative"}, "whole path"),
        ("leaf", {"volume": "/srv/../etc"}, "whole path"),
        ("leaf", {"max_turns": 0}, "max_turns"),
        ("leaf", {"nonsense": 1}, "nonsense"),
        ("leaf-remote", {}, "base_url"),
        ("leaf-remote", {"base_url": "file:///etc/passwd"}, "http"),
        ("leaf-remote", {"base_url": "https://x", "dialect": "smoke"}, "dialect"),
    ],
)
def test_wrong_settings_are_told(owner: User, runtime: str, settings: object, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        connect(owner, runtime, settings)
    assert not Agent.objects.exists()
