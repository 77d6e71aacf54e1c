"""An agent is validated completely before it is created."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.transaction import TransactionManagementError

from agents.lifecycle import AgentState, Status
from agents.locking import LockedSession, lock_session, lock_sessions
from agents.models import Agent, Session
from agents.registration import open_session, register_agent

pytestmark = pytest.mark.django_db


def register(owner: User, **changes: Any) -> Agent:
    facts: dict[str, Any] = {
        "slug": "scout",
        "name": "Scout",
        "owners": [owner],
        "runtime_key": "idle",
        "settings": {},
        **changes,
    }
    return register_agent(**facts)


def test_an_agent_comes_with_its_home_session(owner: User, colleague: User) -> None:
    agent = register(owner, owners=[owner, colleague], title="Looks around.")
    assert (agent.name, agent.lifecycle, agent.wake_policy) == (
        "Scout",
        AgentState.DRAFT,
        {"kind": "manual"},
    )
    assert set(agent.owners.all()) == {owner, colleague}
    home = agent.sessions.get()
    assert (home.is_home, home.status, home.last_seq) == (True, Status.DRAFT, 1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"slug": ""}, "slug"),
    ({"slug": "Über"}, "slug"),
    ({"slug": "a" * 64}, "slug"),
    ({"slug": "a\n"}, "slug"),
    ({"slug": "a\0"}, "slug"),
    ({"name": "x" * 121}, "name"),
    ({"name": "\ud800"}, "name"),
    ({"title": "x" * 201}, "title"),
    ({"mission": "\0"}, "mission"),
    ({"contract": "half \udfff"}, "contract"),
    ({"lane": "x" * 64}, "lane"),
    ({"owners": []}, "owners"),
    ({"runtime_key": "none"}, "runtime"),
    ({"runtime_key": "markers", "settings": {"command": []}}, "settings"),
    ({"runtime_key": "markers", "settings": {"command": ["a\0"]}}, "settings"),
    ({"wake": {"kind": "sometimes"}}, "wake_policy"),
    ({"wake": {"kind": "schedule", "cron": "0 0 31 2 *"}}, "wake_policy"),
    ({"lifecycle": "asleep"}, "lifecycle"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_of_its_field(owner: User, wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        register(owner, **wrong)
    assert list(refused.value.message_dict) == [field]
    assert not Agent.objects.exists()
    assert not Session.objects.exists()


def test_a_slug_is_taken_once(owner: User) -> None:
    register(owner)
    with pytest.raises(ValidationError, match="already exists"):
        register(owner)


@pytest.mark.django_db(transaction=True)
def test_the_lock_is_refused_outside_a_transaction(session: Session) -> None:
    with pytest.raises(TransactionManagementError):
        lock_session(session.pk)


def test_a_session_that_is_not_there_cannot_be_locked() -> None:
    with pytest.raises(Session.DoesNotExist):
        lock_session(4711)


def test_several_sessions_are_locked_and_missing_ones_left_out(agent: Agent) -> None:
    ids = [open_session(agent).pk for _ in range(3)]
    locked = lock_sessions([4711, *reversed(ids), *ids])
    assert list(locked) == ids
    assert {session.agent.pk for session in locked.values()} == {agent.pk}
    assert lock_sessions([]) == {}


def test_a_session_that_is_not_locked_has_no_moment(session: LockedSession) -> None:
    """Code under the lock takes the time from the session; without the lock there is none."""
    with pytest.raises(AttributeError):
        _ = session.locked_at
    assert lock_session(session.pk).locked_at > session.created_at
