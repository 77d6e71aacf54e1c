"""The same command in other words of the model, turn after turn: one request, one approval at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.lifecycle import Outcome
from agents.models import Session
from asks.lifecycle import AskStatus
from asks.models import Ask, Grant
from tests.factories import begin, claim, finish, verdict_on
from tests.grants.test_in_the_turn import take
from tests.grants.world import World, check_it_ended, command_world
from tests.pages.html import read
from workspace.protocols.markers.permissions.acpx import Escalation
from workspace.protocols.markers.permissions.asks import draft_approvals

pytestmark = pytest.mark.django_db


def wants(description: str, command: str = "rm -rf build", call_id: str = "") -> Escalation:
    given = {"command": command, "description": description}
    return Escalation("execute", description, given, call_id)


def propose(session: Session, *wanted: Escalation) -> list[Ask]:
    """The session's next turn wants these; the asks that are open afterwards."""
    queued = session.runs.filter(status="queued").first()
    turn = claim(queued) if queued else begin(session)
    drafts: Any = tuple(draft_approvals(wanted))
    finish(turn, Outcome.BLOCKED, asks=drafts)
    return list(Ask.objects.filter(session=session, status=AskStatus.OPEN).order_by("pk"))


def test_another_description_replaces_the_open_request_and_shows_the_difference(
    session: Session, owner: User
) -> None:
    (first,) = propose(session, wants("Clean up"))
    (second,) = propose(session, wants("Remove what was built"))
    first.refresh_from_db()
    assert (first.status, first.superseded_by) == (AskStatus.SUPERSEDED, second)
    client = Client()
    client.force_login(owner)
    words = read(client.get(f"/asks/{second.pk}/").content).words
    assert "Clean up" in words
    assert "Remove what was built" in words
    assert Ask.objects.count() == 2


def test_three_descriptions_of_one_command_leave_one_approval_that_may_run(
    session: Session, owner: User
) -> None:
    for words in ("One", "Two", "Three"):
        (asked,) = propose(session, wants(words))
        verdict_on(asked, owner, option="allow")
    assert list(Grant.objects.order_by("pk").values_list("state", flat=True)) == [
        "lapsed",
        "lapsed",
        "minted",
    ]
    assert Grant.objects.first().end == "asked_again"  # type: ignore[union-attr]


def test_in_one_turn_the_later_words_win(session: Session) -> None:
    (asked,) = propose(session, wants("One"), wants("Two"))
    assert asked.gate.params["description"] == "Two"
    assert asked.supersedes.gate.params["description"] == "One"


def test_a_tool_call_that_changes_its_command_is_one_request(session: Session) -> None:
    (asked,) = propose(session, wants("x", "ls", "c"), wants("x", "rm -rf .", "c"))
    assert asked.gate.params["command"] == "rm -rf ."
    assert asked.supersedes.gate.params["command"] == "ls"


def test_other_commands_are_other_requests(session: Session) -> None:
    assert len(propose(session, wants("x", "ls", "c"), wants("x", "rm -rf .", "d"))) == 2


def test_a_request_of_the_same_key_ends_the_approval_of_the_earlier_call(
    owner: User, colleague: User, tmp_path: Path
) -> None:
    world: World = command_world(owner, colleague, tmp_path)
    *_, asked = propose(world.session, wants("Clean up"))
    verdict_on(asked, owner, option="allow")
    world.asked = asked
    *_, fresh = propose(world.session, wants("Clean it up"))
    assert fresh.repeats == asked
    check_it_ended(world, "asked_again")
    assert take(begin(world.session)) is None
