"""Changing a call on its card before approving it, with scripts and without."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from asks.drafts import ActionDraft
from asks.models import Ask, Grant, Refusal, Verdict
from tests.factories import echo_of
from tests.pages import world
from tests.pages.answers import assert_untouched, card, post
from tests.pages.html import Element, read
from tests.policies.world import asked, in_force, refund

pytestmark = pytest.mark.django_db
PARAMS: dict[str, Any] = {
    "charge": "ch_1",
    "amount": 48,
    "notify": True,
    "memo": None,
    "to": {"name": "Ada", "lines": ["1 Road"]},
    "text": "one\ntwo ",
}
SCHEMA = {
    "type": "object",
    "properties": {"currency": {"enum": ["EUR", "USD"]}, "memo": {"type": ["string", "null"]}},
}


@pytest.fixture
def agent(owner: User) -> Agent:
    found = world.agent_of(owner)
    in_force(found, refund(may_edit=True))
    return found


@pytest.fixture
def ask(agent: Agent) -> Ask:
    return asked(world.home(agent), ActionDraft("refund", PARAMS))


def fields(form: Element) -> dict[str, str]:
    return {name: text for name, text in form.fields().items() if name.startswith("edit")}


def form_of(client: Client, ask: Ask) -> dict[str, str]:
    shown = read(client.get(f"/asks/{ask.pk}/").content).one("article", id=f"ask-{ask.pk}")
    return fields(shown.one("form", action=f"/asks/{ask.pk}/answer"))


def test_every_value_of_the_call_is_a_field(as_owner: Client, ask: Ask) -> None:
    assert form_of(as_owner, ask) == {
        "edit/charge": "ch_1",
        "edit/amount": "48",
        "edit/notify": "true",
        "edit/to/name": "Ada",
        "edit/to/lines": '[\n "1 Road"\n]',
        "edit/text": "one\ntwo ",
    }


def test_what_no_policy_allows_is_not_offered(as_owner: Client, owner: User) -> None:
    ask = asked(world.home(world.agent_of(owner)), ActionDraft("refund", PARAMS))
    assert form_of(as_owner, ask) == {}


@pytest.mark.case("C13")
@pytest.mark.parametrize("htmx", [True, False])
def test_a_changed_call_is_looked_at_once_more_and_then_approved(
    as_owner: Client, ask: Ask, htmx: bool
) -> None:
    typed = form_of(as_owner, ask) | {"edit/amount": " 12.5 ", "edit/text": "one\r\ntwo "}
    first = post(as_owner, ask, htmx, option="approve", **echo_of(ask), **typed)
    assert first.status_code == 200
    assert_untouched(ask)
    shown = card(first, ask)
    assert "You changed the call. This is what you approve:" in shown.words
    (was,), (now,) = (shown.all("div", class_=sign) for sign in ("del", "add"))
    assert ("48" in was.words, "12.5" in now.words) == (True, True)
    second = shown.one("form", action=f"/asks/{ask.pk}/answer").fields()
    done = post(as_owner, ask, htmx, **{**second, "option": "approve"})
    assert done.status_code == (200 if htmx else 302)
    edited = {**PARAMS, "amount": 12.5}
    assert (Verdict.objects.get().edit or {})["edited"] == edited
    assert Grant.objects.get().params == edited
    receipt = read(as_owner.get(f"/decisions/{ask.pk}/receipt/").content).words
    assert "The call was changed before it was approved." in receipt
    assert "Approved as changed" in receipt
    twice = post(as_owner, ask, htmx, **{**second, "option": "approve"})
    assert twice.status_code == (200 if htmx else 302)


def test_going_back_keeps_what_was_typed(as_owner: Client, ask: Ask) -> None:
    typed = form_of(as_owner, ask) | {"edit/amount": "7", "edit/notify": "false"}
    first = card(post(as_owner, ask, option="approve", **echo_of(ask), **typed), ask)
    second = first.one("form", action=f"/asks/{ask.pk}/answer").fields()
    again = card(post(as_owner, ask, **{**second, "back": "1"}), ask)
    kept = fields(again.one("form", action=f"/asks/{ask.pk}/answer"))
    assert (kept["edit/amount"], kept["edit/notify"]) == ("7", "false")
    assert_untouched(ask)


def test_untouched_fields_approve_the_call_as_it_is(as_owner: Client, ask: Ask) -> None:
    typed = {name: text.replace("\n", "\r\n") for name, text in form_of(as_owner, ask).items()}
    assert post(as_owner, ask, option="approve", **echo_of(ask), **typed).status_code == 200
    assert Verdict.objects.get().edit is None


def test_a_denial_does_not_mind_what_was_typed(as_owner: Client, ask: Ask) -> None:
    typed = form_of(as_owner, ask) | {"edit/amount": "lots"}
    form = {"option": "deny", "confirmed": "deny", **echo_of(ask), **typed}
    assert post(as_owner, ask, **form).status_code == 200
    assert Verdict.objects.get().meaning == "deny"


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("edit/amount", "lots <b>", "It must be a number."),
        ("edit/amount", "", "It must be a number."),
        ("edit/amount", "NaN", "It must be a number."),
        ("edit/notify", "perhaps", "It must be true or false."),
        ("edit/to/lines", "[1]", "to.lines[0]: It must be text."),
        ("edit/to/lines", "[", "It must be a list."),
    ],
)
def test_a_wrong_change_is_refused_beside_its_field_and_stays(
    as_owner: Client, ask: Ask, htmx: bool, name: str, text: str, why: str
) -> None:
    typed = form_of(as_owner, ask) | {name: text, "edit/charge": "ch_2"}
    response = post(as_owner, ask, htmx, option="approve", **echo_of(ask), **typed)
    assert response.status_code == 422
    shown = card(response, ask)
    (wrong,) = shown.all(name=name)
    assert wrong.attrs["aria-invalid"] == "true"
    assert why in shown.one("span", id=wrong.attrs["aria-describedby"]).words
    kept = fields(shown.one("form", action=f"/asks/{ask.pk}/answer"))
    assert kept["edit/charge"] == "ch_2"
    if wrong.tag == "textarea":
        assert kept[name] == text
    assert Refusal.objects.get().reason == "bad_edit"
    assert_untouched(ask)


def test_a_forged_change_is_refused_and_recorded(as_owner: Client, owner: User) -> None:
    ask = asked(world.home(world.agent_of(owner)), ActionDraft("refund", PARAMS))
    for forged in ({"edit/amount": "1"}, {"edited": '{"amount": 1}', "confirmed": "approve"}):
        response = post(as_owner, ask, option="approve", **echo_of(ask), **forged)
        assert response.status_code == 403
    assert list(Refusal.objects.values_list("reason", flat=True)) == ["not_editable"] * 2
    assert_untouched(ask)


def test_the_tool_s_schema_makes_the_fields(as_owner: Client, agent: Agent) -> None:
    params = {"currency": "EUR", "memo": None, "amount": 1}
    ask = asked(world.home(agent), ActionDraft("refund", params, schema=SCHEMA))
    shown = read(as_owner.get(f"/asks/{ask.pk}/").content).one("article", id=f"ask-{ask.pk}")
    choices = shown.one("select", name="edit/currency").all("option")
    assert [choice.attrs["value"] for choice in choices] == ['"EUR"', '"USD"']
    typed = form_of(as_owner, ask) | {"edit/currency": '"USD"', "edit/memo": "yes"}
    first = card(post(as_owner, ask, option="approve", **echo_of(ask), **typed), ask)
    second = first.one("form", action=f"/asks/{ask.pk}/answer").fields()
    post(as_owner, ask, **{**second, "option": "approve"})
    assert Grant.objects.get().params == {"currency": "USD", "memo": "yes", "amount": 1}


def test_names_and_values_of_an_agent_are_only_text(as_owner: Client, agent: Agent) -> None:
    params = {'"><script>': "</textarea><script>\u202e", "a/b~": {"": 1}}
    ask = asked(world.home(agent), ActionDraft("refund", params))
    html = as_owner.get(f"/asks/{ask.pk}/").content.decode()
    assert "<script>" not in html.replace('<script src="', "").replace("<script defer", "")
    assert form_of(as_owner, ask) == {
        'edit/"><script>': "</textarea><script>\u202e",
        "edit/a~1b~0/": "1",
    }


def test_what_changed_meanwhile_keeps_the_change(as_owner: Client, agent: Agent, ask: Ask) -> None:
    typed = form_of(as_owner, ask) | {"edit/amount": "7"}
    in_force(agent, refund(may_edit=True, bind_files=["charge"]))
    form = {"option": "approve", "confirmed": "approve", **echo_of(ask), **typed}
    response = post(as_owner, ask, **form)
    assert response.status_code == 409
    fresh = Ask.objects.get(supersedes=ask)
    shown = card(response, fresh)
    assert fields(shown.one("form", action=f"/asks/{fresh.pk}/answer"))["edit/amount"] == "7"
    assert not shown.all("button", name="same"), "the same answer would approve the unchanged call"
