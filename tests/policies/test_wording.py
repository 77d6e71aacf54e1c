"""Templates of policies and tools: what may stand in one, and what it is filled with."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agents.models import Agent
from agents.registration import open_session
from asks.asking_again import draft_from
from asks.drafts import ActionDraft
from asks.policies import terms, versions
from asks.policies.rules import Rule
from asks.policies.wording import Wording, fill_template, text_of
from tests.policies.world import asked, in_force

REFUND = {"amount": "48.00", "currency": "EUR", "customer": {"name": "Brandt & Söhne"}}


def filled(template: str, params: Any) -> str | None:
    parts = fill_template(template, params)
    return None if parts is None else text_of(parts)


@pytest.mark.parametrize(
    ("template", "params", "text"),
    [
        (
            "Refund {amount} {currency} to {customer.name}",
            REFUND,
            "Refund 48.00 EUR to Brandt & Söhne",
        ),
        ("Do not refund", REFUND, "Do not refund"),
        ("{n} {f} {b}", {"n": 3, "f": 1.5, "b": True}, "3 1.5 true"),
        ("To {to}", {"to": ["a", "b"]}, "To a, b"),
        ("To {to}", {"to": list("abcde")}, "To a, b, c and 2 more"),
        ("{a}", {"a": "x\n\ty"}, "x y"),
        ("{a}", {"a": "{b} %s {0.__class__}"}, "{b} %s {0.__class__}"),
        ("{a}", {"a": "x" * 500}, "x" * 79 + "…"),
    ],
)
def test_a_template_is_filled_with_arguments(template: str, params: Any, text: str) -> None:
    assert filled(template, params) == text


@pytest.mark.parametrize(
    ("template", "params"),
    [
        ("{gone}", REFUND),
        ("{customer}", REFUND),
        ("{amount.real}", {"amount": 5}),
        ("{__class__}", REFUND),
        ("{customer.__class__.__name__}", REFUND),
        ("{keys}", REFUND),
        ("{a}", {"a": None}),
        ("{a}", {"a": " \u200b"}),
        ("{a}", {"a": []}),
        ("{a}", {"a": [{"b": 1}]}),
        ("{a.0}", {"a": ["x"]}),
        ("{a}", ["a"]),
        ("{a}", None),
    ],
)
def test_what_is_no_argument_leaves_a_template_unfilled(template: str, params: Any) -> None:
    assert filled(template, params) is None


@pytest.mark.parametrize(
    "template",
    [
        *("", " ", "\u200b", "a\nb", "x" * 201, "\0", "{}", "{ a }", "{a b}", "{a!r}", "{a:>9}"),
        *("{a[0]}", "{a.}", "{.a}", "{a", "a}", "{{a}}", "{a()}"),
    ],
)
def test_what_is_no_template_is_refused(template: str) -> None:
    for name in ("headline", "approve_label", "reject_label"):
        with pytest.raises(ValidationError):
            Rule.model_validate({"operation": "refund", name: template})


@pytest.mark.parametrize("name", ["danger", "reversible"])
@pytest.mark.parametrize("value", ["yes", 1, "true"])
def test_danger_and_reversible_are_true_or_false(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"operation": "refund", name: value})


@pytest.mark.django_db
def test_the_policy_speaks_before_the_tool_and_the_tool_again_without_it(agent: Agent) -> None:
    session = open_session(agent)
    tool = Wording(headline="Pay {amount}", approve_label="Pay", reversible=False)
    in_force(agent, {"operation": "refund", "headline": "Refund {amount}", "danger": True})
    ask = asked(session, ActionDraft("refund", REFUND, wording=tool))
    words = terms.terms_of(ask).words
    assert words == Wording(
        headline="Refund {amount}", approve_label="Pay", danger=True, reversible=False
    )
    again = draft_from(ask)
    assert again.action is not None
    assert again.action.wording == tool


@pytest.mark.django_db
def test_a_stored_policy_keeps_its_words(agent: Agent) -> None:
    rule = {"operation": "refund", "headline": "Refund {amount}", "reversible": False}
    in_force(agent, rule)
    document = versions.policy_in_force(agent.pk).document
    assert document.rules[0].wording == Wording(headline="Refund {amount}", reversible=False)
