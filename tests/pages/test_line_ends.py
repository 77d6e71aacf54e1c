"""Blanks and carriage returns at the ends of lines: kept where nobody changed them, and seen."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from asks.drafts import ActionDraft
from asks.models import Verdict
from tests.pages import world
from tests.policies.world import asked, in_force, refund
from workspace.text.line_ends import keep_line_ends, lines_of, mark_line_ends

TEXTS = st.text(alphabet="ab \t\r\n", max_size=40)
KEPT = [
    ("a\r\nb", "a\nc", "a\r\nc"),
    ("a\r\nb", "a\r\nc", "a\r\nc"),
    ("a\rb\r\nc\nd", "a\nx\nc\nd", "a\rx\r\nc\nd"),
    ("a\r\nb\r\n", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
    ("a\r\nb", "a\nb\nc", "a\r\nb\r\nc"),
    ("a \r\n b", "a \n c", "a \r\n c"),
    ("a\nb", "a\r\nc", "a\nc"),
    ("", "a\r\nb", "a\nb"),
    ("a\r", "b\n", "b\r"),
]


@pytest.mark.parametrize(("before", "typed", "right"), KEPT)
def test_a_line_that_nobody_changed_ends_as_it_did(before: str, typed: str, right: str) -> None:
    assert keep_line_ends(before, typed) == right


@given(TEXTS)
def test_what_a_form_sends_back_untouched_is_the_same(text: str) -> None:
    sent = re.sub(r"\r\n|\r|\n", "\r\n", text)
    assert keep_line_ends(text, sent) == text


@given(TEXTS, TEXTS)
def test_the_lines_are_those_that_were_typed(before: str, typed: str) -> None:
    found = [line.text for line in lines_of(keep_line_ends(before, typed))]
    assert found == [line.text for line in lines_of(typed)]


@given(TEXTS, TEXTS)
def test_no_two_texts_look_the_same(one: str, other: str) -> None:
    if one != other and one.strip() and other.strip():
        assert mark_line_ends(one) != mark_line_ends(other) or "\t" in one + other


@pytest.mark.django_db
def test_a_changed_mail_keeps_its_line_ends(as_owner: Client, owner: User) -> None:
    agent = world.agent_of(owner)
    in_force(agent, refund(may_edit=True))
    ask = asked(world.home(agent), ActionDraft("refund", {"body": "Dear Ada, \r\nb\r\n"}))
    page = as_owner.get("/").content.decode()
    assert "⟦1 space⟧" in page
    assert "⟦lines end in CR LF⟧" in page
    fields = {**world.echo_of(ask), "option": "approve", "edit/body": "Dear Ada, \r\nc\r\n"}
    shown = as_owner.post(f"/asks/{ask.pk}/answer", {**fields, "whole": "1"}).content.decode()
    assert "You changed the call" in shown
    edited = re.search(r'name="edited"\s+value="([^"]*)"', shown)
    assert edited
    sent = edited.group(1).replace("&quot;", '"')
    as_owner.post(
        f"/asks/{ask.pk}/answer", {**fields, "edited": sent, "confirmed": "approve", "whole": "1"}
    )
    edit = Verdict.objects.get().edit
    assert edit is not None
    assert edit["edited"] == {"body": "Dear Ada, \r\nc\r\n"}
