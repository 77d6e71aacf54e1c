"""The audit tells of confidential decisions that they were made, and nothing of what they were about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import InboxItem
from asks.answering import Voted, answer_ask
from asks.drafts import ActionDraft
from asks.models import Ask, Grant, LedgerRecord, Refusal, SignedFile, Verdict, Vote
from tests.admin import world
from tests.effects import redeem_grant
from tests.factories import AgentFactory, echo_of, home_of, verdict_on
from tests.policies.world import asked, group_of, in_force

pytestmark = pytest.mark.django_db
SECRET = "Kestrel"
ACTION = ActionDraft("pay", {"to": SECRET, "amount": 1})
CONFIDENTIAL: dict[str, Any] = {"answered_by": "group:board", "confidential": True}


@pytest.fixture
def member() -> User:
    return world.person("bea", root=True)


@pytest.fixture
def as_member(member: User) -> Client:
    client = Client()
    client.force_login(member)
    return client


@pytest.fixture
def decided(member: User) -> Ask:
    """Confidential, refused, voted on, decided, granted, signed for: its content is everywhere."""
    agent = AgentFactory(slug="treasury")
    group_of("board", member, world.person("ben"))
    in_force(agent, {"operation": "pay", "quorum": 2}, **CONFIDENTIAL)
    ask = asked(home_of(agent), ACTION, prompt=f"Pay {SECRET}?", context={"why": SECRET})
    answer_ask(ask_id=ask.pk, by=member, option=SECRET, echo=echo_of(ask))
    words: dict[str, Any] = {"option": "approve", "text": f"{SECRET} is fine", "echo": echo_of(ask)}
    assert isinstance(answer_ask(ask_id=ask.pk, by=member, **words), Voted)
    verdict = verdict_on(ask, User.objects.get(username="ben"), **words)
    SignedFile.objects.create(digest="0" * 64, name=f"{SECRET}.json", why=SECRET, verdict=verdict)
    assert redeem_grant(session_id=ask.session_id, operation="pay", params=ACTION.params)
    return ask


MODELS: tuple[type[Any], ...] = (
    Ask,
    Verdict,
    Refusal,
    Vote,
    Grant,
    SignedFile,
    LedgerRecord,
    InboxItem,
)


def address_of(model: type[Any]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize("model", MODELS)
def test_neither_the_list_nor_any_page_tells_what_it_was_about(
    as_root: Client, model: type[Any]
) -> None:
    rows = model._default_manager.all()
    assert rows
    for page in (address_of(model), *(f"{address_of(model)}{row.pk}/change/" for row in rows)):
        shown = as_root.get(page)
        assert shown.status_code == 200
        assert SECRET not in shown.content.decode(), page


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize("model", [Ask, Verdict, Refusal, Vote])
def test_those_who_may_see_it_do(as_member: Client, model: type[Any]) -> None:
    pages = [f"{address_of(model)}{row.pk}/change/" for row in model._default_manager.all()]
    assert any(SECRET in as_member.get(page).content.decode() for page in pages)


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize("model", [Verdict, Refusal, SignedFile, LedgerRecord])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_nor_does_an_export(as_root: Client, model: type[Any], ending: str) -> None:
    chosen = [str(row.pk) for row in model._default_manager.all()]
    sent = {"action": f"export_{ending}", "_selected_action": chosen}
    exported = as_root.post(address_of(model), sent).content.decode()
    assert "confidential" in exported
    assert SECRET not in exported


def test_who_decided_when_and_how_is_told(as_root: Client, decided: Ask) -> None:
    chosen = {
        "action": "export_json",
        "_selected_action": [str(Verdict.objects.get(ask=decided).pk)],
    }
    (row,) = json.loads(as_root.post("/admin/asks/verdict/", chosen).content)
    assert (row["by"], row["agent"], row["meaning"]) == ("ben", "treasury", "approve")
    assert (row["question"], row["operation"], row["params"]) == (
        "(confidential)",
        "(confidential)",
        None,
    )
    assert row["waited_seconds"] >= 0


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize("model", [Ask, Verdict, Refusal, Vote, Grant, SignedFile, InboxItem])
def test_no_search_finds_it_by_its_words(
    as_root: Client, as_member: Client, model: type[Any]
) -> None:
    for words in (SECRET, SECRET.lower(), "pay"):
        assert as_root.get(address_of(model), {"q": words}).context["cl"].result_count == 0
    if model in (Ask, Verdict):
        assert as_member.get(address_of(model), {"q": SECRET}).context["cl"].result_count == 1


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize(
    ("page", "lookup"),
    [
        ("asks/ask", "prompt__contains"),
        ("asks/ask", "context__why"),
        ("asks/verdict", "text__startswith"),
        ("asks/verdict", "ask__prompt__contains"),
        ("asks/refusal", "submitted__option"),
        ("asks/ledgerrecord", "body__contains"),
        ("asks/grant", "params__to"),
        ("asks/grant", "operation"),
        ("asks/signedfile", "name__contains"),
        ("agents/inboxitem", "body__contains"),
    ],
)
def test_no_address_asks_which_row_holds_a_word(as_root: Client, page: str, lookup: str) -> None:
    assert as_root.get(f"/admin/{page}/", {lookup: SECRET}).status_code == 400


def test_what_is_not_confidential_is_shown_beside_it(as_root: Client, decided: Ask) -> None:
    other = asked(home_of(AgentFactory()), prompt="May I refund Nordlicht?")
    page = as_root.get("/admin/asks/ask/").content.decode()
    assert "May I refund Nordlicht?" in page
    assert f"confidential ask {decided.pk}" in page
    shown = as_root.get(f"/admin/asks/ask/{other.pk}/change/").content.decode()
    assert other.gate.action_hash in shown


def test_a_trial_of_a_policy_does_not_name_its_operation(as_root: Client, decided: Ask) -> None:
    rules = json.dumps({"rules": [{"operation": "pay", "approval": "never"}]})
    sent = {"agent": decided.agent_id, "rules": rules, "why": "x"}
    page = as_root.post("/admin/asks/policy/preview/", sent).content.decode()
    assert f"ask {decided.pk}" in page
    assert "<td>(confidential)</td>" in page
