"""From an owner's click to the capsule: what was decided reaches the next turn, exactly."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User

from agents.models import Run, Session
from agents.running.capsule import write_capsule
from asks.drafts import ActionDraft
from asks.models import Grant
from tests.factories import ask, claim, draft, verdict_on
from workspace.protocols.markers.permissions.acpx import Escalation
from workspace.protocols.markers.permissions.asks import draft_approval

pytestmark = pytest.mark.django_db


def next_capsule(session: Session) -> tuple[str, list[object]]:
    """What the next turn is told, and what it may do."""
    run = Run.objects.filter(session=session).order_by("-number").first()
    assert run is not None
    turn = claim(run)
    granted = Grant.objects.filter(session=session, redemption=None)
    return write_capsule(turn, closing=""), [(one.operation, one.params) for one in granted]


@pytest.mark.parametrize(
    ("option", "line"), [("allow", "approved: Bash"), ("refuse", "not approved: Bash")]
)
def test_a_decided_permission_reaches_the_next_turn(
    session: Session, owner: User, option: str, line: str
) -> None:
    action = {"command": "rm -rf x", "deep": [1, None, {"é": True}]}
    bound = draft_approval(Escalation("Bash", "Bash: rm -rf x", action), "run 1: ")
    [asked] = ask(session, bound)  # type: ignore[arg-type]
    verdict_on(asked, owner, option=option)
    capsule, approved = next_capsule(session)
    [decided] = [text for text in capsule.splitlines() if line in text]
    assert decided.startswith(f">   {line} ")
    assert json.loads(decided.partition("Bash ")[2]) == action
    assert approved == ([("Bash", action)] if option == "allow" else [])


def test_a_question_releases_nothing(session: Session, owner: User) -> None:
    [asked] = ask(session, draft())
    verdict_on(asked, owner)
    capsule, approved = next_capsule(session)
    assert '>   answer: "' in capsule
    assert "approved:" not in capsule
    assert approved == []


def test_an_action_of_another_protocol_is_carried_the_same_way(
    session: Session, owner: User
) -> None:
    [asked] = ask(session, draft(action=ActionDraft("refund", {"amount": 12.5})))
    verdict_on(asked, owner)
    assert '>   approved: refund {"amount": 12.5}' in next_capsule(session)[0]
