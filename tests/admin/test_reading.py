"""The audit: everything can be found and followed, at a cost that does not grow with the rows."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agents.models import Agent, Event, InboxItem, Lane, Run, Session
from asks.models import Ask, Refusal, Verdict
from tests.admin import world
from tests.pages import world as asking

pytestmark = pytest.mark.django_db

#: Queries of each list: sign-in, count, dates, filters, rows. The same for 1 row and for 30.
QUERIES: dict[type[Model], int] = {
    Agent: 9,
    Session: 6,
    Run: 6,
    Event: 7,
    InboxItem: 6,
    Lane: 6,
    Ask: 6,
    Verdict: 9,
    Refusal: 7,
}
MODELS = tuple(QUERIES)


def address_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def queries_of(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def test_lists_cost_the_same_for_one_row_and_for_thirty(as_root: Client) -> None:
    for rows in (1, 30):
        world.fill(rows - Agent.objects.count(), first=Agent.objects.count())
        found = {model: queries_of(as_root, address_of(model)) for model in MODELS}
        assert found == QUERIES, f"with {rows} of each"


@pytest.mark.parametrize("model", MODELS)
def test_every_row_has_a_page_to_read(as_root: Client, model: type[Model]) -> None:
    world.fill(1)
    row = model._default_manager.latest("pk")
    shown = as_root.get(f"{address_of(model)}{row.pk}/change/")
    assert shown.status_code == 200
    assert b"What belongs to it" in shown.content
    for editing in (b'name="_save"', b'name="_addanother"', b"deletelink", b"<textarea"):
        assert editing not in shown.content


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ("agents/agent", "agent-0"),
        ("agents/agent", "owner-0"),
        ("agents/session", "agent-0"),
        ("agents/run", "agent-0"),
        ("agents/event", "agent-0"),
        ("agents/inboxitem", "agent-0"),
        ("agents/lane", "lane-0"),
        ("asks/ask", "Nordlicht"),
        ("asks/ask", "stripe.refunds"),
        ("asks/verdict", "owner-0"),
        ("asks/verdict", "agent-0"),
        ("asks/refusal", "owner-0"),
    ],
)
def test_searching(as_root: Client, listed: str, words: str) -> None:
    world.fill(2)
    found = as_root.get(f"/admin/{listed}/", {"q": words}).context["cl"].result_count
    everything = as_root.get(f"/admin/{listed}/").context["cl"].result_count
    assert 0 < found <= everything
    assert as_root.get(f"/admin/{listed}/", {"q": "no such thing"}).context["cl"].result_count == 0


def test_decisions_of_one_person_and_of_one_day(as_root: Client) -> None:
    world.fill(3)
    decided = Verdict.objects.earliest("pk")
    person, day = decided.decided_by, decided.decided_at
    of_person = as_root.get("/admin/asks/verdict/", {"decided_by__id__exact": person.pk})
    assert [row.decided_by for row in of_person.context["cl"].result_list] == [person]
    assert f'<option value="{person.pk}" selected>{person}</option>' in of_person.content.decode()
    that_day = {
        "decided_at__year": day.year,
        "decided_at__month": day.month,
        "decided_at__day": day.day,
    }
    assert as_root.get("/admin/asks/verdict/", that_day).context["cl"].result_count == 3
    another = {**that_day, "decided_at__year": day.year - 1}
    assert as_root.get("/admin/asks/verdict/", another).context["cl"].result_count == 0


@pytest.mark.parametrize("chosen", ["", "0", "x"])
def test_a_person_filter_without_a_person(as_root: Client, chosen: str) -> None:
    world.fill(1)
    shown = as_root.get("/admin/asks/verdict/", {"decided_by__id__exact": chosen}, follow=True)
    assert shown.status_code == 200


def test_people_are_found_by_the_beginning_of_their_name(as_root: Client, root: User) -> None:
    field = {"app_label": "asks", "model_name": "verdict", "field_name": "decided_by"}
    found = as_root.get("/admin/autocomplete/", {**field, "term": "roo"}).json()
    assert [each["id"] for each in found["results"]] == [str(root.pk)]


def test_filters_are_kept_when_a_person_is_chosen(as_root: Client) -> None:
    world.fill(1)
    shown = as_root.get("/admin/asks/verdict/", {"via__exact": "page", "q": "agent-0"})
    page = shown.content.decode()
    assert '<input type="hidden" name="via__exact" value="page">' in page


def test_from_an_agent_to_its_decisions(as_root: Client) -> None:
    world.fill(2)
    ask = Ask.objects.earliest("pk")
    agent_page = as_root.get(f"/admin/agents/agent/{ask.agent_id}/change/").content.decode()
    to_asks = f"/admin/asks/ask/?agent__id__exact={ask.agent_id}"
    assert to_asks in agent_page
    listed = as_root.get(to_asks)
    assert [row.pk for row in listed.context["cl"].result_list] == [ask.pk]
    for target in (ask.agent, ask.session):
        name = f"admin:{target._meta.app_label}_{target._meta.model_name}_change"
        assert reverse(name, args=[target.pk]) in listed.content.decode()
    ask_page = as_root.get(f"/admin/asks/ask/{ask.pk}/change/").content.decode()
    assert ask.gate.action_hash in ask_page
    assert ask.decision.option_label in ask_page


def test_what_agents_say_is_shown_and_not_obeyed(as_root: Client) -> None:
    agent = asking.agent_of(world.person("owner"))
    attack = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    ask = asking.asked(agent, asking.question(prompt=attack))
    event = Event.objects.filter(kind="asked").get()
    for page in (
        "/admin/asks/ask/",
        f"/admin/asks/ask/{ask.pk}/change/",
        "/admin/agents/event/",
        f"/admin/agents/event/{event.pk}/change/",
    ):
        content = as_root.get(page).content.decode()
        assert "&lt;script&gt;alert(1)" in content
        assert "<script>alert(1)" not in content
        assert "<img src=x" not in content


def test_a_form_for_an_account_sends_back_what_it_was_given(as_root: Client) -> None:
    """Where something is saved, what is hidden is not replaced by its name."""
    person = world.person("hidden")
    User.objects.filter(pk=person.pk).update(first_name="Ze\u200bno")
    page = as_root.get(f"/admin/auth/user/{person.pk}/change/").content.decode()
    assert 'value="Ze\u200bno"' in page
