"""The built-in ask_question: options or words, answered, ignored, and what can never be asked."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from asks.lifecycle import AskKind, Style
from tests.eve.runtime.world import Brain, carry_all, noted, open_asks, question, say, session_for
from tests.factories import verdict_on

pytestmark = pytest.mark.django_db
LEDGERS = [
    {"id": "eu", "label": "EU", "description": "Europe", "style": "danger"},
    {"label": "US"},
]


def ask(owner: User, **given: Any) -> Any:
    brain = Brain([question(call_id="q1", **given)])
    session = session_for(owner, brain)
    say(session, owner)
    return session, brain, open_asks(session)[0]


def test_options_are_offered_by_their_ids_or_labels(owner: User) -> None:
    session, brain, asked = ask(owner, options=LEDGERS)
    assert (asked.kind, asked.free_text) == (AskKind.QUESTION, False)
    assert asked.request_key == "q1"
    assert list(asked.options.values_list("key", "label", "detail", "style")) == [
        ("eu", "EU", "Europe", Style.DANGER),
        ("US", "US", "", Style.DEFAULT),
    ]
    assert asked.context["eve"]["display"] == "select"
    verdict_on(asked, owner, option="US")
    carry_all()
    assert brain.told() == {"q1": {"status": "answered", "optionId": "US"}}
    assert noted(session, "action.result") == []


@pytest.mark.parametrize("more", [{}, {"options": LEDGERS, "allowFreeform": True}])
def test_words_where_they_are_allowed(owner: User, more: dict[str, Any]) -> None:
    _, brain, asked = ask(owner, **more)
    assert asked.free_text is True
    verdict_on(asked, owner, text="Neither: ask Ada.")
    carry_all()
    assert brain.told() == {"q1": {"status": "answered", "text": "Neither: ask Ada."}}


def test_a_message_passes_a_question_over(owner: User) -> None:
    session, brain, _ = ask(owner, options=LEDGERS)
    say(session, owner, "Never mind.")
    assert brain.told() == {"q1": {"status": "ignored"}}
    assert brain.heard()[-1] == "Never mind."
    assert open_asks(session) == []


@pytest.mark.case("eve-question-shape")
@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"prompt": ""}, "prompt"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": "  \u200b "}, "no text"),
        ({"options": "x"}, "options"),
        ({"options": [{"id": "a"}]}, "options.0.label"),
        ({"options": [{"id": "a", "label": "A"}, {"id": "a", "label": "B"}]}, "same id"),
        ({"options": [{"label": str(n)} for n in range(61)]}, "61 options"),
        ({"allowFreeform": "yes"}, "allowFreeform"),
        ({"extra": 1}, "extra"),
    ],
)
def test_what_is_no_question_never_reaches_a_person(
    owner: User, given: dict[str, Any], names: str
) -> None:
    brain = Brain([question(call_id="q1", **{"prompt": "Which?", **given})])
    session = session_for(owner, brain)
    say(session, owner)
    assert not session.asks.exists()
    assert names in str(brain.told()["q1"])
    assert brain.calls == 2
