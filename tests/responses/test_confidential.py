"""Confidential mode: what of a question may leave, and that nothing of the rest is left anywhere."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError

from agents.models import Agent, Event, InboxItem, Session
from asks import answering
from asks.models import Ask
from asks.policies import versions
from tests.responses.world import (
    QUESTIONS,
    REQUEST,
    Caller,
    arguments,
    ask_of,
    asked,
    body,
    brain,
    carry_all,
    events,
    hybrid_agent,
    key_for,
    question,
    row,
    words,
)
from workspace.models import OutboxItem
from workspace.protocols.responses.agent.confidential import (
    FIXED_PROMPT,
    LONGEST_OPTION,
    names_a_place,
    shown,
)
from workspace.protocols.responses.agent.question_file import FileQuestion
from workspace.protocols.responses.server import service

LEDGER = FileQuestion("Which ledger: EU or US?", ("EU", "US"), "ledger-choice")
REPLACED = FileQuestion(FIXED_PROMPT)


def with_options(*options: str) -> FileQuestion:
    return FileQuestion(LEDGER.text, options, LEDGER.wish)


@pytest.mark.case("responses-S36")
@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("Which ledger: EU or US?", True),
        ("Publish the report for 2026-10-16?", True),
        ("Which ledger: EU or US? Alice said EU.", False),
        ("Alice asks: Which ledger: EU or US?", False),
        ("Which ledger: EU or US?\nalice@example.com", False),
        ("which ledger: EU or US?", False),
    ],
)
def test_only_a_full_match_leaves(text: str, leaves: bool) -> None:
    found = shown(FileQuestion(text), QUESTIONS)

    assert found.text == (text if leaves else FIXED_PROMPT)


@pytest.mark.case("responses-S41")
def test_without_foreseen_questions_every_one_is_replaced() -> None:
    assert shown(LEDGER, []) == REPLACED


@pytest.mark.case("responses-S41")
def test_a_pattern_that_is_none_is_refused_when_it_is_saved(owner: User) -> None:
    with pytest.raises(ValidationError, match="regular expression"):
        hybrid_agent(owner, hitl_questions=["Which ("])


@pytest.mark.case("responses-S36")
def test_a_pattern_that_takes_for_ever_lets_nothing_leave() -> None:
    assert shown(FileQuestion("a" * 60 + "!"), [r"(\w+\s?)+\$"]) == REPLACED


@pytest.mark.case("responses-S37", "C20")
def test_an_option_of_forty_characters_leaves_and_one_more_does_not() -> None:
    at_most, too_long = "U" * LONGEST_OPTION, "U" * (LONGEST_OPTION + 1)

    assert shown(with_options("EU", at_most), QUESTIONS).options == ("EU", at_most)
    assert shown(with_options("EU", too_long), QUESTIONS) == REPLACED


@pytest.mark.case("responses-S37", "C20")
@pytest.mark.parametrize(
    "option",
    [
        "https://example.com",
        "ftp://x",
        "see /home/x",
        "/etc/passwd",
        "~/ledger.csv",
        "./ledger.csv",
        "../ledger.csv",
        "C:\\ledger.csv",
        "c:/ledger.csv",
        "\\\\server\\share",
        "ledgers/us.csv",
        "ledgers\\us.csv",
        "www.example.com",
        "WWW.EXAMPLE.COM",
        "=/srv/x",
        "and/or",
        "1/2",
    ],
)
def test_an_address_or_a_path_does_not_leave(option: str) -> None:
    assert names_a_place(option)
    assert shown(with_options("EU", option), QUESTIONS) == REPLACED


@pytest.mark.parametrize("option", ["EU", "ledger.csv", "EU - the big one", "a: b", "50 %", "«ÜK»"])
def test_a_plain_option_leaves(option: str) -> None:
    assert not names_a_place(option)


@pytest.mark.case("responses-S40")
@pytest.mark.django_db
def test_nothing_is_replaced_outside_confidential_mode(caller: Caller) -> None:
    paused = caller.ask("long_option")

    assert arguments(paused)["options"] == ["EU", "U" * 41]
    assert arguments(paused)["request_event"]["data"]["question"] == LEDGER.text


SECRETS = ("alice", "example.com", "Vaduz", "raid", "cayman")


def everything_about(response: dict[str, object]) -> str:
    """All that is kept or told of a response's session, but for what its own caller sent."""
    session: Session = row(response).session
    rows: list[object] = [session.title, session.status_reason]
    for event in Event.objects.filter(session=session):
        rows += [event.text, event.html, event.data]
    for ask in Ask.objects.filter(session=session):
        rows += [ask.prompt, ask.prompt_html, ask.context, ask.request_key]
        rows += [option.label for option in ask.options.all()]
    rows += list(InboxItem.objects.filter(session=session).values_list("body", "data"))
    rows += list(OutboxItem.objects.filter(session=session).values_list("payload", flat=True))
    return json.dumps([response, events(response), rows], default=str).lower()


@pytest.mark.case("responses-S38", "responses-S39", "responses-S42", "C20")
@pytest.mark.django_db
def test_nothing_of_a_replaced_question_is_left_anywhere(
    owner: User, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script = question(
        request_id="raid-vaduz",
        question="May I tell alice@example.com?",
        options=["Vaduz", "Cayman"],
        essentials={"where": "Vaduz"},
    )
    agent = hybrid_agent(owner, command=brain(tmp_path, script), confidential=True)
    request = {**REQUEST, "target": "raid Vaduz"}

    paused = Caller(key_for(agent, owner)).create(request)

    assert set(arguments(paused)) == {"request_id", "request_event"}
    assert asked(paused)["call_id"].startswith("req.")
    found = everything_about(paused) + caplog.text.lower()
    assert [secret for secret in SECRETS if secret in found] == []


@pytest.mark.case("responses-S39")
@pytest.mark.django_db
def test_the_turn_after_a_confidential_question_still_knows_its_request(caller: Caller) -> None:
    paused = caller.ask(confidential=True)

    assert "resume_state" not in arguments(paused)
    assert "request" not in arguments(paused)
    assert "Reconciled US for 2026-10-16" in words(caller.answer(paused, "US"))


@pytest.mark.case("responses-S38")
@pytest.mark.django_db
def test_the_error_of_a_confidential_brain_quotes_nothing_of_it(
    owner: User, tmp_path: Path
) -> None:
    script = "sys.exit('raid Vaduz')"
    agent = hybrid_agent(owner, command=brain(tmp_path, script), confidential=True)

    failed = Caller(key_for(agent, owner)).create(REQUEST)

    assert failed["error"]["message"] == "The brain ended with exit code 1."
    assert "vaduz" not in everything_about(failed)


@pytest.mark.django_db
def test_a_request_tightens_only_where_it_may_and_loosens_never(owner: User) -> None:
    strict = hybrid_agent(owner, confidential=True)
    deaf = hybrid_agent(owner, slug="deaf", request_may_tighten=False)

    loosened = Caller(key_for(strict, owner)).ask("odd_question", confidential=False)
    ignored = Caller(key_for(deaf, owner, name="other")).ask("odd_question", confidential=True)

    assert arguments(loosened)["request_event"]["data"]["question"] == FIXED_PROMPT
    assert "alice" in arguments(ignored)["request_event"]["data"]["question"]


@pytest.mark.parametrize("reader", ["the owner", "the program"])
def test_a_question_for_few_people_is_read_by_no_key(
    agent: Agent, owner: User, colleague: User, reader: str
) -> None:
    """A policy says that finance answers, in confidence. The owner of the agent is not in finance."""
    finance = Group.objects.create(name="finance")
    colleague.groups.add(finance)
    rules = {"terms": {"confidential": True, "answered_by": "group:finance"}}
    versions.add_version(agent_id=agent.pk, rules=rules, why="Quietly.", by=owner)
    person = owner if reader == "the owner" else None
    theirs = Caller(key_for(agent, person, ("run:create", "run:read"), name="reader"))

    paused = theirs.ask()
    ask = ask_of(paused)
    seen = [paused, events(paused), theirs.look(paused)]
    assert "Which ledger" not in json.dumps(seen)
    assert '"US"' not in json.dumps(seen)
    answering.answer_ask(ask_id=ask.pk, by=colleague, option=ask.options.get(label="US").key)
    child = theirs.look({"id": theirs.look(paused)["envelope"]["next_response_id"]})
    inputs = theirs.call(service.list_input_items, child["id"])

    assert inputs["data"][0]["output"] == "(confidential)"
    carry_all()
    assert "Reconciled US" in words(body(child["id"]))
