"""The card of an approval: the call as a table, and questions with few and with many options."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from asks.drafts import ActionDraft, OptionDraft
from asks.models import Ask, Verdict
from tests.pages import world
from tests.pages.answers import assert_untouched, card, post
from tests.pages.html import Element, read
from tests.policies.world import asked, in_force
from workspace.pages.cards.call_rows import MOST_ROWS, rows_of

pytestmark = pytest.mark.django_db


def call(client: Client, owner: User, params: Any, operation: str = "deploy") -> Element:
    ask = asked(world.home(world.agent_of(owner)), ActionDraft(operation, params))
    page = read(client.get(f"/asks/{ask.pk}/").content)
    return page.one("article", id=f"ask-{ask.pk}").one("figure", class_="bound")


def card_figure(client: Client, ask: Ask) -> Element:
    page = read(client.get(f"/asks/{ask.pk}/").content)
    return page.one("figure", class_="bound")


def rows(figure: Element) -> list[tuple[str, str]]:
    return [(row.one("dt").words, row.one("dd").words) for row in figure.one("dl").all("div")]


def test_nested_arguments_stand_under_their_names(as_owner: Client, owner: User) -> None:
    params = {"env": "prod", "n": 1.5, "to": {"hosts": ["a", "b"], "force": False}, "none": {}}
    figure = call(as_owner, owner, params)
    assert "deploy" in figure.one("figcaption").words
    assert rows(figure) == [
        ("env", "prod"),
        ("n", "1.5"),
        ("to", "2 values"),
        ("hosts", "2 items"),
        ("[0]", "a"),
        ("[1]", "b"),
        ("force", "false"),
        ("none", "{}"),
    ]
    depths = [row.one("dt").attrs.get("class") for row in figure.one("dl").all("div")]
    assert depths == [None, None, None, "in-1", "in-2", "in-2", "in-1", None]


def test_arguments_keep_the_order_of_the_call_where_the_question_is_asked_again(
    as_owner: Client, owner: User
) -> None:
    params = {"zone": "eu", "id": 1, "list": [{"b": 1, "a": 2}], "~/~1": {"y/": 1, "x": 2}}
    agent = world.agent_of(owner)
    ask = asked(world.home(agent), ActionDraft("deploy", params))
    names = [name for name, _value in rows(card_figure(as_owner, ask))]
    assert names == ["zone", "id", "list", "[0]", "b", "a", "~/~1", "y/", "x"]
    in_force(agent, {"operation": "other"})
    post(as_owner, ask, option="approve", **world.echo_of(ask))
    fresh = Ask.objects.get(supersedes=ask.pk)
    assert [name for name, _value in rows(card_figure(as_owner, fresh))] == names
    assert fresh.gate.action_hash == ask.gate.action_hash


def test_the_order_of_the_arguments_binds_nothing(owner: User) -> None:
    first, second = (
        asked(world.home(world.agent_of(owner, slug=slug)), ActionDraft("deploy", params))
        for slug, params in (("one", {"a": 1, "b": 2}), ("two", {"b": 2, "a": 1}))
    )
    assert first.gate.action_hash == second.gate.action_hash


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("restart\n", "restart ends with a line break"),
        ("one\ntwo\n\n", "one two ends with 2 line breaks"),
        ("  indented\nlines", "indented lines"),
        (" around ", '" around "'),
        ("5\n", '"5\\n"'),
        ("\n", '"\\n"'),
    ],
)
def test_text_is_shown_as_it_would_be_written(
    as_owner: Client, owner: User, text: str, words: str
) -> None:
    assert rows(call(as_owner, owner, {"text": text})) == [("text", words)]


@pytest.mark.case("C91")
def test_a_long_value_is_folded_shows_both_ends_and_is_all_there(
    as_owner: Client, owner: User
) -> None:
    script = "echo start; " + "true; " * 2000 + "rm -rf /the/end"
    figure = call(as_owner, owner, {"command": script, "short": "x"})
    folded = figure.one("details", class_="long")
    summary = folded.one("summary").words
    assert "echo start" in summary
    assert "rm -rf /the/end" in summary
    assert f"all {len(script)} characters" in summary
    assert script in folded.words


def test_hidden_characters_and_markup_are_shown_as_they_are(as_owner: Client, owner: User) -> None:
    params = {"pay\u202eyap": "a\u200bb<script>", "deep": {"<i>": "\u2066x"}}
    figure = call(as_owner, owner, params, operation="<b>run</b>")
    assert "<b>run</b>" in figure.one("figcaption").words
    assert {("pay⟦U+202E⟧yap", "a⟦U+200B⟧b<script>"), ("<i>", "⟦U+2066⟧x")} <= set(rows(figure))


@pytest.mark.parametrize("text", ["[" * 5_000, '{"a":' * 900, "[" * 900 + "]" * 900])
def test_text_that_looks_like_json_without_end_is_shown_as_text(
    as_owner: Client, owner: User, text: str
) -> None:
    figure = call(as_owner, owner, {"text": text})
    assert text in figure.one("dd").words
    assert as_owner.get("/").status_code == 200


def test_a_call_with_very_many_values_stays_readable() -> None:
    many = {f"k{n}": {"a": [n] * 10} for n in range(MOST_ROWS)}
    found = rows_of(many)
    assert len(found) == MOST_ROWS
    assert found[3].value == '{"a": [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]}'


def test_only_what_is_inside_and_differs_is_signed() -> None:
    found = rows_of({"to": {"a": 1, "b": 2}}, {"to": {"a": 1, "b": 3, "c": 4}})
    assert [(row.sign, row.path, row.value) for row in found] == [
        ("", "/to", "2 values"),
        ("", "/to/a", "1"),
        ("-", "/to/b", "3"),
        ("+", "/to/b", "2"),
        ("-", "/to/c", "4"),
    ]


def question(owner: User, options: int, **more: Any) -> Ask:
    offered = tuple(OptionDraft(f"o{n}", f"Place {n}") for n in range(options))
    agent = world.agent_of(owner, slug=f"agent-{Agent.objects.count()}")
    return world.asked(agent, world.question(options=offered, **more))


def form(client: Client, ask: Ask) -> Element:
    page = read(client.get(f"/asks/{ask.pk}/").content)
    return page.one("form", action=f"/asks/{ask.pk}/answer")


def test_up_to_twelve_options_are_buttons_and_more_are_a_list_that_can_be_read(
    as_owner: Client, owner: User
) -> None:
    twelve = question(owner, 12)
    assert len(form(as_owner, twelve).all("button", name="option")) == 12
    assert not form(as_owner, twelve).all("input", name="option")
    more = form(as_owner, question(owner, 13))
    assert not more.all("button", name="option")
    assert [label.words for label in more.one("fieldset", class_="choices").all("label")] == [
        f"Place {n}" for n in range(13)
    ]
    assert len(more.all("input", name="option", type="radio")) == 13


@pytest.mark.case("C14")
def test_sending_the_list_with_nothing_chosen_decides_nothing(
    as_owner: Client, owner: User
) -> None:
    ask = question(owner, 13)
    response = post(as_owner, ask, option="", text="")
    assert response.status_code == 422
    assert "Pick one of the options." in card(response, ask).words
    assert_untouched(ask)


@pytest.mark.case("C09")
def test_what_is_chosen_from_the_list_is_the_answer(as_owner: Client, owner: User) -> None:
    ask = question(owner, 60, free_text=True)
    assert post(as_owner, ask, option="o41", text="").status_code == 200
    assert Verdict.objects.get().option_label == "Place 41"
    words = question(owner, 13, free_text=True)
    assert post(as_owner, words, option="", send="words", text="elsewhere").status_code == 200
    assert Verdict.objects.get(ask=words).text == "elsewhere"
