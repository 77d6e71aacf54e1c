"""An agent without a memory is told what was decided, by whom and to which question, and what is open."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.events.log import NewEvent
from agents.lifecycle import AgentState, Outcome
from agents.models import Session
from agents.registration import register_agent
from agents.running.runner import carry_run
from agents.running.runtime import Ended, Turn
from agents.settlement import settle_run
from asks import remembering
from asks.deadlines.expiry import expire_due_asks
from asks.drafts import ActionDraft
from asks.models import Ask
from asks.withdrawing import withdraw_ask
from tests.factories import ask, begin, claim, draft, finish, home_of, turn_of, verdict_on
from tests.policies.world import group_of, in_force
from workspace.protocols.markers.runtime import MarkersRuntime

pytestmark = pytest.mark.django_db


def next_turn(session: Session) -> Turn:
    queued = session.runs.filter(status="queued").first()
    return claim(queued) if queued else begin(session)


def prompt_of(turn: Turn) -> str:
    return MarkersRuntime().show_prompt(turn)


def part(prompt: str, title: str) -> str:
    """The lines of one section of a prompt; empty if there is none."""
    _, found, rest = prompt.partition(f"## {title}\n")
    return rest.partition("\n## ")[0] if found else ""


def test_a_decision_outlives_any_number_of_reports(session: Session, owner: User) -> None:
    """A7: its question, option, words, who and when."""
    (asked,) = ask(session, draft(prompt="Which ledger?"))
    verdict_on(asked, owner, option="eu", text="The old one is closed.")
    turn = next_turn(session)
    reports = [NewEvent("report", "agent:ledger", f"Step {number}.") for number in range(12)]
    assert settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE), reports)
    prompt = prompt_of(next_turn(session))
    decided = part(prompt, "Decided so far")
    asked.refresh_from_db()
    assert f'- ask {asked.pk}, answered by "olga", {asked.closed_at.isoformat()}' in decided  # type: ignore[union-attr]
    assert 'asked: "Which ledger?"' in decided
    assert 'answer: "EU ledger"' in decided
    assert 'words: "The old one is closed."' in decided
    assert "Step 11." in part(prompt, "Recent history")


def test_answers_in_another_order_stay_with_their_questions(session: Session, owner: User) -> None:
    """A6: one turn later no line tells of a verdict without its question."""
    first, second = ask(session, draft(prompt="Delete?"), draft(prompt="Keep a copy?"))
    verdict_on(second, owner, option="eu")
    verdict_on(first, owner, option="us")
    finish(next_turn(session))
    prompt = prompt_of(next_turn(session))
    lines = part(prompt, "Decided so far").splitlines()
    pairs = [
        (line, lines[at + 1]) for at, line in enumerate(lines) if line.startswith(">   asked:")
    ]
    assert sorted(pairs) == [
        ('>   asked: "Delete?"', '>   answer: "US ledger"'),
        ('>   asked: "Keep a copy?"', '>   answer: "EU ledger"'),
    ]
    assert "[verdict]" not in prompt


def test_what_was_withdrawn_or_expired_is_named(session: Session, owner: User) -> None:
    gone, late = ask(session, draft(prompt="May I go?"), draft(prompt="May I stay?"))
    withdraw_ask(ask_id=gone.pk, by=owner, reason="Not today.")
    Ask.objects.filter(pk=late.pk).update(expires_at=late.opened_at)
    assert expire_due_asks() == 1
    controls.resume_session(session_id=session.pk, by=owner)
    decided = part(prompt_of(next_turn(session)), "Decided so far")
    assert f'- ask {gone.pk}, withdrawn by "olga"' in decided
    assert 'words: "Not today."' in decided
    assert f"- ask {late.pk}, expired, " in decided
    assert decided.count("nothing was approved") == 2


def test_what_is_open_is_listed_when_somebody_writes(session: Session, owner: User) -> None:
    """A5: the agent is told that its question waits."""
    (asked,) = ask(session, draft(prompt="Which ledger?"))
    messages.post_message(session_id=session.pk, by=owner, text="How is it going?")
    prompt = prompt_of(next_turn(session))
    opened = part(prompt, "Still open")
    assert f"- ask {asked.pk}, open since {asked.opened_at.isoformat()}" in opened
    assert 'asked: "Which ledger?"' in opened
    assert 'options: ["EU ledger", "US ledger"]' in opened
    assert "Do not ask them again" in opened
    assert part(prompt, "Decided so far") == ""


def test_the_last_decision_of_each_question_and_as_many_as_fit(
    session: Session, owner: User
) -> None:
    for number in range(23):
        (asked,) = ask(session, draft(prompt=f"Question {number % 22}?"))
        verdict_on(asked, owner, option="us" if number == 22 else "eu")
        finish(next_turn(session))
    decided = part(prompt_of(next_turn(session)), "Decided so far")
    assert decided.count("asked: ") == remembering.MOST_DECIDED
    assert decided.count('"Question 0?"') == 1
    assert "3 earlier decisions are left out." in decided
    assert '"Question 2?"' not in decided


def test_long_texts_are_cut_aloud_and_the_whole_is_bounded(session: Session, owner: User) -> None:
    for number in range(30):
        (asked,) = ask(session, draft(prompt=f"{number} " + "x" * 3_000))
        verdict_on(asked, owner, option="eu", text="y" * 3_000)
        finish(next_turn(session))
    decided = part(prompt_of(next_turn(session)), "Decided so far")
    assert "more characters]" in decided
    assert len(decided) < remembering.DECIDED_SIZE + 2_000
    assert "earlier decisions are left out." in decided


def test_an_approval_says_what_became_of_it(session: Session, owner: User) -> None:
    (asked,) = ask(session, draft(action=ActionDraft("Bash", {"command": "rm -rf x"})))
    verdict_on(asked, owner)
    finish(next_turn(session))
    decided = part(prompt_of(next_turn(session)), "Decided so far")
    assert 'about: "Bash" {"command": "rm -rf x"}' in decided
    assert "the approval: lapsed" in decided
    assert "approved: Bash" not in decided, "nothing there releases it"


def test_a_confidential_question_is_told_once(session: Session) -> None:
    member = User.objects.create(username="fay")
    group_of("finance", member)
    in_force(session.agent, confidential=True, answered_by="group:finance")
    (asked,) = ask(session, draft(prompt="Which salary?", context={}))
    verdict_on(asked, member, option="eu", text="90,000")
    turn = next_turn(session)
    assert "90,000" in prompt_of(turn)
    finish(turn)
    prompt = prompt_of(next_turn(session))
    decided = part(prompt, "Decided so far")
    assert f'- ask {asked.pk}, answered by "fay"' in decided
    assert "confidential" in decided
    for secret in ("90,000", "salary", "EU ledger"):
        assert secret not in prompt


@pytest.mark.django_db(transaction=True)
def test_a_program_reads_it_all_from_a_file(owner: User, tmp_path: Path) -> None:
    script = "import json, os; told = json.load(open(os.environ['NEEDS_YOU_TURN']))\n"
    script += "json.dump(told, open('told.json', 'w'))"
    made = register_agent(
        slug="reader",
        owners=[owner],
        runtime_key="markers",
        settings={"command": [sys.executable, "-c", script], "cwd": str(tmp_path)},
        lifecycle=AgentState.ACTIVE,
    )
    session = home_of(made)
    decided, still_open = ask(session, draft(prompt="Which?"), draft(prompt="When?"))
    verdict_on(decided, owner, option="eu", text="Now \ud7ff é")
    turn_of(session)
    controls.start_session(session_id=session.pk, by=owner)
    asyncio.run(carry_run(session.runs.latest("number").pk))
    told: dict[str, Any] = json.loads((tmp_path / "told.json").read_text())
    assert (told["v"], told["agent"], told["session"]) == (1, "reader", session.pk)
    (first,) = told["decided"]
    assert (first["question"], first["option"], first["label"]) == ("Which?", "eu", "EU ledger")
    assert (first["by"], first["outcome"], first["words"]) == ("olga", "answered", "Now \ud7ff é")
    (waiting,) = told["still_open"]
    assert (waiting["ask_id"], waiting["question"]) == (still_open.pk, "When?")
    assert told["left_out"] == {"decided": 0, "still_open": 0}
