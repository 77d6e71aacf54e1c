"""Connecting an agent behind somebody else's eve server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from agents.models import Agent
from workspace.protocols.eve.client.lines import LARGEST, BadLine, LineReader

pytestmark = pytest.mark.django_db


def connect(owner: User, **settings: Any) -> None:
    call_command(
        "agent",
        *("connect", "there", "--owner", owner.username, "--runtime", "eve-remote"),
        *("--options", json.dumps(settings), "--insist"),
    )


@pytest.mark.parametrize("address", ["http://host:2000", "https://host/eve/v1", "https://host/"])
def test_it_is_connected_like_any_agent_of_another_protocol(owner: User, address: str) -> None:
    connect(owner, base_url=address)
    found = Agent.objects.get(slug="there")
    assert (found.runtime, found.lifecycle) == ("eve-remote", "draft")


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({}, "base_url"),
        ({"base_url": "host"}, "base_url"),
        ({"base_url": "http://host", "patience_seconds": 0}, "patience_seconds"),
        ({"base_url": "http://host", "more": 1}, "more"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(
    owner: User, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(CommandError, match=field):
        connect(owner, **settings)
    assert not Agent.objects.exists()


def test_lines_come_whole_however_their_bytes_come() -> None:
    lines = '{"a": "é"}\n\n\r\n{"b": 2}\n{"c"'.encode()
    for size in range(1, len(lines)):
        reader = LineReader()
        pieces = [lines[at : at + size] for at in range(0, len(lines), size)]
        assert [one for piece in pieces for one in reader.feed(piece)] == [{"a": "é"}, {"b": 2}]


def test_a_line_that_is_too_long_is_refused_whole_or_half() -> None:
    for end in (b"", b"\n"):
        with pytest.raises(BadLine):
            LineReader().feed(b"x" * (LARGEST + 1) + end)
