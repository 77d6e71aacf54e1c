"""Agents are edited, shared, paused, retired and restored; each change is a record without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError

from agents import controls
from agents.lifecycle import AgentState, Cause, Outcome, Status
from agents.mending import masking
from agents.mending.changes import AgentChange
from agents.mending.checks import AgentUnfit, check_agent
from agents.mending.editing import AgentEdit, StaleEdit, edit_agent
from agents.mending.owners import change_owners, hand_over_agents
from agents.models import Agent, Session
from agents.registration import connect_agent, open_session, register_agent
from asks.ledger.agent_records import changes_of
from asks.ledger.verify.whole import verify_ledger
from asks.models import Ask, LedgerRecord
from asks.retirement import restore_agent, retire_agent
from tests.factories import ask, begin, draft, finish, home_of, turn_of

pytestmark = pytest.mark.django_db

NOWHERE = "/srv/needs-you-has-no-such-folder"


@pytest.fixture
def agent(owner: User, colleague: User) -> Agent:
    """A command that cannot start: its folder has a typo."""
    return register_agent(
        slug="sorter",
        owners=[owner, colleague],
        runtime_key="markers",
        settings={"command": ["true"], "cwd": NOWHERE, "env": {"API_KEY": "s3cr3t-value"}},
        lifecycle=AgentState.ACTIVE,
    )


def edit(agent: Agent, by: User, *, insist: bool = False, **wanted: Any) -> Agent:
    return edit_agent(
        agent_id=agent.pk,
        version=agent.version,
        by=by,
        edit=AgentEdit(**wanted),
        insist=insist,
    )


def settings_of(agent: Agent, **changes: Any) -> dict[str, Any]:
    return masking.mask_settings(agent.settings) | changes


def records() -> list[dict[str, Any]]:
    found = LedgerRecord.objects.filter(kind="agent_changed").order_by("seq")
    return [json.loads(record.body) for record in found]


def test_a_typo_is_mended_and_the_failing_session_is_tried_again(
    agent: Agent, owner: User, tmp_path: Path
) -> None:
    session = home_of(agent)
    turn_of(session, Outcome.RETRYABLE_ERROR, error="no folder", cannot_start=True)
    assert home_of(agent).status == Status.FAILING
    edited = edit(agent, owner, settings=settings_of(agent, cwd=str(tmp_path)))
    assert edited.settings["cwd"] == str(tmp_path)
    assert edited.version == agent.version + 1
    assert home_of(agent).status == Status.QUEUED
    assert home_of(agent).runs.latest("number").cause == Cause.HUMAN


def test_a_record_says_who_and_what_without_secrets(
    agent: Agent, owner: User, tmp_path: Path
) -> None:
    settings = settings_of(
        agent,
        cwd=str(tmp_path),
        command=[
            "true",
            "--token",
            "tok-12345678",
            "--api-key=abcdefgh",
            "https://u:pw@example.org/x",
        ],
        env={"API_KEY": "another-s3cr3t", "PLAIN": "walnut"},
    )
    edit(agent, owner, settings=settings, mission="Sort.")
    (record,) = records()
    assert record["actor"] == f"human:{owner.username}"
    changed = record["facts"]["changed"]
    assert changed["mission"] == ["", "Sort."]
    assert changed["settings.cwd"] == [NOWHERE, str(tmp_path)]
    assert changed["settings.env"][1] == dict.fromkeys(["API_KEY", "PLAIN"], masking.MASK)
    body = json.dumps(record, ensure_ascii=False)
    for secret in ("s3cr3t", "walnut", "tok-12345678", "abcdefgh", "u:pw"):
        assert secret not in body
    verify_ledger()
    assert {one.field for one in changes_of(agent)} == set(changed)


def test_a_masked_value_stays(agent: Agent, owner: User, tmp_path: Path) -> None:
    edited = edit(agent, owner, settings=settings_of(agent, cwd=str(tmp_path)))
    assert edited.settings["env"] == {"API_KEY": "s3cr3t-value"}


def test_an_edit_that_changes_nothing_is_no_record(agent: Agent, owner: User) -> None:
    assert edit(agent, owner, name=agent.name, settings=settings_of(agent)).version == 1
    assert records() == []


def test_the_second_of_two_edits_is_refused(agent: Agent, owner: User, colleague: User) -> None:
    edit(agent, owner, mission="First.")
    with pytest.raises(StaleEdit) as caught:
        edit(agent, colleague, mission="Second.")
    assert Agent.objects.get().mission == "First."
    (change,) = changes_of(caught.value.agent, since_version=caught.value.seen)
    assert (change.field, change.old, change.new, change.by) == (
        "mission",
        "",
        "First.",
        owner.username,
    )


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"runtime": "nothing"}, "runtime"),
        ({"settings": {"command": []}}, "settings"),
        ({"settings": {"command": ["true"], "colour": 1}}, "settings"),
        ({"wake_policy": {"kind": "schedule"}}, "wake_policy"),
        ({"name": "x" * 121}, "name"),
        ({"mission": "a\0b"}, "mission"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_changes(
    agent: Agent, owner: User, wanted: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        edit(agent, owner, insist=True, **wanted)
    assert field in caught.value.message_dict
    agent.refresh_from_db()
    assert (agent.version, records()) == (1, [])


def test_what_cannot_start_is_refused_unless_a_person_insists(agent: Agent, owner: User) -> None:
    wanted = settings_of(agent, command=["needs-you-has-no-such-command"], cwd=None)
    with pytest.raises(AgentUnfit):
        edit(agent, owner, settings=wanted)
    assert edit(agent, owner, insist=True, settings=wanted).version == 2


def test_the_runtime_changes_only_while_nothing_goes_on(agent: Agent, owner: User) -> None:
    session = home_of(agent)
    turn = begin(session)
    with pytest.raises(ValidationError, match="A run is running"):
        edit(agent, owner, insist=True, runtime="idle", settings={})
    finish(turn)
    ask(session)
    with pytest.raises(ValidationError, match="waiting for a person"):
        edit(agent, owner, insist=True, runtime="idle", settings={})
    assert Agent.objects.get().runtime == "markers"


def test_another_runtime_withdraws_what_the_earlier_one_asked(agent: Agent, owner: User) -> None:
    session = home_of(agent)
    (waiting,) = ask(session)
    finish(begin(session))  # its owner started it, so nothing waits; the ask stays open
    assert Ask.objects.get(pk=waiting.pk).status == "open"
    edited = edit(agent, owner, insist=True, runtime="idle", settings={})
    assert (edited.runtime, Ask.objects.get(pk=waiting.pk).status) == ("idle", "withdrawn")
    assert home_of(agent).open_asks == 0
    verify_ledger()


def test_a_new_wake_policy_takes_effect(agent: Agent, owner: User) -> None:
    agent = edit(agent, owner, wake_policy={"kind": "schedule", "every_seconds": 3600})
    session = home_of(agent)
    assert (session.status, session.wake_cause) == (Status.SCHEDULED, Cause.SCHEDULE)
    edit(agent, owner, wake_policy={"kind": "manual"})
    session = home_of(agent)
    assert (session.status, session.wake_at) == (Status.MANUAL, None)


def test_owners_change_but_never_down_to_nobody(
    agent: Agent, owner: User, colleague: User, stranger: User
) -> None:
    group = Group.objects.create(name="finance")
    stranger.groups.add(group)
    changed = change_owners(agent_id=agent.pk, by=owner, groups=[group], remove=[colleague])
    assert set(changed.owners.all()) == {owner, stranger}
    assert records()[-1]["facts"]["changed"] == {
        "owners": [
            sorted([owner.username, colleague.username]),
            sorted([owner.username, stranger.username]),
        ]
    }
    with pytest.raises(ValidationError, match="active owner"):
        change_owners(agent_id=agent.pk, by=owner, remove=[owner, stranger])
    User.objects.filter(pk=stranger.pk).update(is_active=False)
    with pytest.raises(ValidationError, match="active owner"):
        change_owners(agent_id=agent.pk, by=owner, remove=[owner])
    with pytest.raises(ValidationError, match="deactivated"):
        change_owners(agent_id=agent.pk, by=owner, add=[User.objects.get(pk=stranger.pk)])
    with pytest.raises(StaleEdit):
        change_owners(agent_id=agent.pk, by=owner, add=[colleague], version=1)


def test_handing_over(agent: Agent, owner: User, colleague: User, stranger: User) -> None:
    assert hand_over_agents(person=owner, to=stranger, by=None) == [agent]
    assert set(agent.owners.all()) == {colleague, stranger}
    assert records()[-1]["actor"] == "system"


def test_each_move_of_its_life_is_a_record(agent: Agent, owner: User) -> None:
    controls.pause_agent(agent_id=agent.pk, by=owner)
    controls.pause_agent(agent_id=agent.pk, by=owner)
    controls.resume_agent(agent_id=agent.pk, by=owner)
    retire_agent(agent_id=agent.pk, by=owner)
    restore_agent(agent_id=agent.pk, by=owner)
    moves = [(one["facts"]["what"], *one["facts"]["changed"]["lifecycle"]) for one in records()]
    assert moves == [
        ("paused", "active", "paused"),
        ("resumed", "paused", "active"),
        ("retired", "active", "retired"),
        ("restored", "retired", "paused"),
    ]
    verify_ledger()


def test_restoring_brings_back_what_retiring_ended(agent: Agent, owner: User) -> None:
    home, other = home_of(agent), open_session(agent, title="other")
    ask(other, draft("k"))
    retire_agent(agent_id=agent.pk, by=owner)
    assert Ask.objects.get().status == "withdrawn"
    assert restore_agent(agent_id=agent.pk, by=owner)
    assert not restore_agent(agent_id=agent.pk, by=owner)
    states = Session.objects.values_list("state", "status")
    assert set(states) == {("active", Status.PAUSED)}
    assert Ask.objects.get().status == "withdrawn"
    controls.resume_agent(agent_id=agent.pk, by=owner)
    assert controls.start_session(session_id=home.pk, by=owner) is not None


def test_connecting_checks_and_records(owner: User, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {
        "slug": "new-one",
        "owners": [owner],
        "runtime_key": "markers",
        "settings": {"command": ["true"], "cwd": NOWHERE},
    }
    with pytest.raises(AgentUnfit):
        connect_agent(by=owner, **wanted)
    assert not Agent.objects.exists()
    wanted["settings"] = {"command": ["true"], "cwd": str(tmp_path), "env": {"A": "hidden"}}
    connect_agent(by=owner, **wanted)
    (record,) = records()
    assert record["facts"]["what"] == "connected"
    assert "hidden" not in json.dumps(record)


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    ("markers", {"command": ["true"], "cwd": NOWHERE}, "There is no folder"),
    ("markers", {"command": [f"{NOWHERE}/agent"]}, "There is no file"),
    ("markers", {"command": ["/etc/passwd"]}, "may not be executed"),
    ("markers", {"command": ["needs-you-has-no-such-command"]}, "was not found"),
    ("responses", {"command": ["needs-you-has-no-such-command"]}, "was not found"),
    ("eve", {"agent": "needs_you_has.no_such_module:agent"}, "needs_you_has"),
    ("leaf", {"workspace": NOWHERE}, "There is no folder"),
    ("leaf-remote", {"base_url": "http://127.0.0.1:9"}, "does not answer"),
    ("eve-remote", {"base_url": "http://127.0.0.1:9"}, "does not answer"),
    ("responses-remote", {"base_url": "http://127.0.0.1:9/v1"}, "does not answer"),
]


@pytest.mark.parametrize(("runtime_key", "settings", "words"), UNFIT, ids=str)
def test_every_runtime_checks_what_it_can(
    runtime_key: str, settings: dict[str, Any], words: str
) -> None:
    faults = [one.text for one in check_agent(runtime_key, settings) if one.is_fault]
    assert len(faults) == 1
    assert words in faults[0]


def test_what_cannot_be_checked_is_said() -> None:
    (note,) = check_agent("idle", {})
    assert not note.is_fault
    notes = check_agent("markers", {"command": ["./agent"], "env_allow": ["NO_SUCH_VARIABLE_HERE"]})
    assert [one.is_fault for one in notes] == [False, False]


def test_a_change_without_a_person_is_the_systems(agent: Agent) -> None:
    from asks.ledger.agent_records import record_agent_change

    record_agent_change(AgentChange(agent, "owners", None, {}))
    assert records()[0]["actor"] == "system"


def test_a_default_that_was_not_stored_is_no_change(agent: Agent, owner: User) -> None:
    Agent.objects.filter(pk=agent.pk).update(settings={"command": ["true"]})
    agent.refresh_from_db()
    edit(agent, owner, settings={"command": ["false"]})
    (record,) = records()
    assert record["facts"]["changed"] == {"settings.command": [["true"], ["false"]]}
