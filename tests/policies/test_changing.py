"""How a policy is changed: in the admin and on the command line, tried on the past before."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from agents.models import Agent, Session
from agents.registration import open_session
from asks.drafts import ActionDraft
from asks.models import LedgerRecord, Policy
from asks.policies import versions
from asks.policies.dry_run import dry_run
from tests.factories import UserFactory, turn_of, verdict_on
from tests.pages.html import read
from tests.policies.world import asked, group_of, in_force, propose, refund

pytestmark = pytest.mark.django_db
ADD = "/admin/asks/policy/add/"
PREVIEW = "/admin/asks/policy/preview/"


def staff(*permissions: str) -> User:
    person: User = UserFactory(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return person


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def form(agent: Agent, rules: Any, why: str = "Because.") -> dict[str, Any]:
    return {"agent": agent.pk, "rules": json.dumps(rules), "why": why}


RULES = {"rules": [{"operation": "refund", "approval": "when", "when": "params.amount > 1000"}]}


def test_a_new_version_is_added_in_the_admin(agent: Agent) -> None:
    person = staff("add_policy", "view_policy")
    client = signed_in(person)
    assert client.get(ADD).status_code == 200
    assert client.post(ADD, form(agent, RULES)).status_code == 302
    made = Policy.objects.get()
    assert (made.version, made.made_by, made.why, made.rules) == (1, person, "Because.", RULES)
    assert LedgerRecord.objects.get(kind="policy_changed").actor == f"human:{person.username}"
    page = client.get(f"/admin/asks/policy/{made.pk}/change/")
    assert page.status_code == 200
    assert "params.amount" in page.content.decode()
    assert client.get("/admin/asks/policy/").status_code == 200


@pytest.mark.parametrize("permissions", [(), ("view_policy",), ("change_policy", "delete_policy")])
def test_without_the_permission_nothing_is_added(
    agent: Agent, permissions: tuple[str, ...]
) -> None:
    client = signed_in(staff(*permissions))
    assert client.post(ADD, form(agent, RULES)).status_code == 403
    assert client.post(PREVIEW, form(agent, RULES)).status_code == 403
    assert not Policy.objects.exists()


def test_an_owner_who_is_no_staff_changes_no_policy(agent: Agent, owner: User) -> None:
    assert signed_in(owner).post(ADD, form(agent, RULES)).status_code in {302, 403}
    assert not Policy.objects.exists()


def test_what_there_is_cannot_be_changed_even_by_a_superuser(agent: Agent) -> None:
    made = in_force(agent, refund())
    root = signed_in(UserFactory(is_staff=True, is_superuser=True))
    address = f"/admin/asks/policy/{made.pk}/"
    assert root.post(f"{address}change/", form(agent, {}, "Changed.")).status_code == 403
    assert root.post(f"{address}delete/", {"post": "yes"}).status_code == 403
    made.refresh_from_db()
    assert made.why == "For a test."


@pytest.mark.case("C66")
@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({"terms": {"on_expire": "approve"}}, "time never approves"),
        (
            {"rules": [{"operation": "x", "approval": "when", "when": "import os"}]},
            "is not a condition",
        ),
        ({"terms": {"answered_by": "group:nobody"}}, "There is no group nobody"),
    ],
)
def test_what_is_no_policy_is_said_beside_the_field(agent: Agent, rules: Any, why: str) -> None:
    client = signed_in(staff("add_policy", "view_policy"))
    page = client.post(ADD, form(agent, rules))
    assert page.status_code == 200
    assert why in read(page.content).words
    assert not Policy.objects.exists()


@pytest.mark.parametrize(
    "text", ["{", "", "nonsense", '"x"', "[1]", "null", "[" * 9_000 + "]" * 9_000]
)
def test_what_is_no_json_is_said_too(agent: Agent, text: str) -> None:
    client = signed_in(staff("add_policy", "view_policy"))
    assert client.post(ADD, form(agent, {}) | {"rules": text}).status_code == 200
    assert client.post(PREVIEW, form(agent, {}) | {"rules": text}).status_code == 422
    assert not Policy.objects.exists()


def test_a_new_version_is_tried_on_the_past_first(agent: Agent, session: Session) -> None:
    small = asked(session, ActionDraft("refund", {"amount": 9}))
    large = asked(open_session(agent), ActionDraft("refund", {"amount": 9000}))
    client = signed_in(staff("add_policy", "view_policy"))
    page = read(client.post(PREVIEW, form(agent, RULES)).content).words
    assert f"ask {small.pk}" in page
    assert f"ask {large.pk}" not in page
    assert "a person is asked → nobody is asked" in page
    assert not Policy.objects.exists()


def test_a_preview_without_an_agent_asks_for_one() -> None:
    client = signed_in(staff("add_policy"))
    for agent in ("", "x", "0", "9" * 30):
        page = client.post(PREVIEW, {"agent": agent, "rules": "{}", "why": ""})
        assert page.status_code == 422
        assert "Choose an agent first." in read(page.content).words


def changes(agent: Agent, rules: Any) -> dict[str, tuple[str, ...]]:
    return {one.what: one.changes for one in dry_run(agent, versions.check_rules(rules))}


def test_what_would_have_changed_is_told_by_what_and_how(agent: Agent, session: Session) -> None:
    group_of("finance")
    ask = asked(session)
    told = changes(
        agent,
        {
            "rules": [refund(quorum=2, answered_by="group:finance", money_critical=True)],
            "terms": {"expires_after": "P1D"},
        },
    )
    assert told == {
        f"ask {ask.pk}": (
            "money-critical",
            "answered by: not set → group:finance",
            "quorum: not set → {'approvals': 2}",
            "expires after: not set → P1D",
        )
    }


def test_what_was_allowed_would_have_been_asked(agent: Agent, session: Session) -> None:
    in_force(agent, refund(approval="never"))
    assert propose(session) is None
    (told,) = changes(agent, {}).values()
    assert told == ("nobody is asked → a person is asked (no rule matches it)",)


def test_once_looks_at_what_was_approved_before(
    agent: Agent, session: Session, owner: User
) -> None:
    first = asked(session, ActionDraft("refund", {"n": 1}))
    verdict_on(first, owner)
    second = asked(session, ActionDraft("refund", {"n": 2}))
    assert list(changes(agent, {"rules": [refund(approval="once")]})) == [f"ask {second.pk}"]


def test_the_same_policy_changes_nothing(agent: Agent, session: Session) -> None:
    in_force(agent, refund(quorum=2))
    asked(session)
    turn_of(open_session(agent))
    assert changes(agent, {"rules": [refund(quorum=2)]}) == {}


class TestCommand:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "policy.json"
        path.write_text(json.dumps(RULES))
        return path

    def run(self, *words: str) -> str:
        out = StringIO()
        call_command("policy", *words, stdout=out, stderr=StringIO())
        return out.getvalue()

    @pytest.mark.usefixtures("owner")
    def test_tried_added_and_shown(self, agent: Agent, session: Session, file: Path) -> None:
        asked(session)
        tried = self.run("dry-run", "ledger", str(file))
        assert "refund: a person is asked → nobody is asked" in tried
        assert "Differences: 1. Nothing was changed." in tried
        assert versions.version_in_force(agent.pk) == 0
        added = self.run("add", "ledger", str(file), "--why", "Less noise.", "--by", "olga")
        assert added == "Version 1 of ledger is active.\n"
        assert json.loads(self.run("show", "ledger")) == RULES
        assert "Differences: 0." in self.run("dry-run", "ledger", str(file))

    @pytest.mark.usefixtures("agent")
    def test_what_cannot_be_done_is_said(self, file: Path, tmp_path: Path) -> None:
        bad = tmp_path / "bad.json"
        bad.write_text('{"terms": {"on_expire": "approve"}}')
        for words, why in (
            (("show", "nobody"), "There is no agent nobody"),
            (("dry-run", "ledger", str(tmp_path / "none")), "cannot be read"),
            (("dry-run", "ledger", str(bad)), "time never approves"),
            (
                ("add", "ledger", str(file), "--why", " ", "--by", "olga"),
                "Say why you change the policy",
            ),
            (
                ("add", "ledger", str(file), "--why", "x", "--by", "nobody"),
                "There is no user nobody",
            ),
        ):
            with pytest.raises(CommandError, match=why):
                self.run(*words)
        assert not Policy.objects.exists()
