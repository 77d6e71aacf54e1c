"""One transaction for an answer, who may give it, and what a response that is over takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import controls, messages
from agents.lifecycle import RunStatus, SessionState
from agents.models import Agent, InboxItem, Run
from asks import answering, withdrawing
from asks.answering import Answered
from asks.lifecycle import AskStatus
from asks.models import Ask, Refusal, Verdict
from tests.responses.answers import refused
from tests.responses.world import (
    REQUEST,
    Caller,
    ask_of,
    asked,
    body,
    brain,
    carry_all,
    claimed,
    hybrid_agent,
    key_for,
    play,
    question,
    result,
    row,
    words,
)
from workspace.protocols.responses.models import Response
from workspace.protocols.responses.server import service

pytestmark = pytest.mark.django_db


@pytest.mark.case("responses-C34", "C45")
def test_the_verdict_its_child_and_its_run_are_one_transaction(
    caller: Caller, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever breaks last, in the queue, leaves neither verdict nor child."""
    from django.db import transaction

    from agents.jobs import queue

    paused = caller.ask()
    broken = RuntimeError("the queue is full")

    def fail(run_id: int) -> None:
        raise broken

    with monkeypatch.context() as patched:
        patched.setattr(queue, "enqueue_run", fail)
        with pytest.raises(RuntimeError, match="queue is full"), transaction.atomic():
            caller.answer(paused, "EU")

    assert not Verdict.objects.exists()
    assert Response.objects.count() == 1
    assert ask_of(paused).status == AskStatus.OPEN
    assert "Reconciled EU" in words(caller.answer(paused, "EU"))


@pytest.mark.case("responses-C22")
def test_a_click_on_the_page_makes_the_child_in_the_same_transaction(
    caller: Caller, owner: User
) -> None:
    paused = caller.ask()
    ask = ask_of(paused)
    option = ask.options.get(label="US")

    done = answering.answer_ask(ask_id=ask.pk, by=owner, option=option.key)

    assert isinstance(done, Answered)
    child = Response.objects.get(answers=ask)
    assert child.previous == row(paused)
    assert child.inputs.get().data["output"] == "US"
    carry_all()
    assert "Reconciled US for 2026-10-16" in words(body(child.public_id))
    assert caller.answer(paused, "US")["id"] == child.public_id


def test_words_beside_an_option_reach_the_brain_beside_the_answer(
    owner: User, tmp_path: Path
) -> None:
    script = "if '# The answer' in prompt:\n    print(prompt)\nelse:\n    " + question()
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, script)), owner))
    ask = ask_of(caller.create(REQUEST))
    first = ask.options.order_by("position")[0]

    answering.answer_ask(ask_id=ask.pk, by=owner, option=first.key, text="but not the drafts")
    carry_all()

    told = words(body(Response.objects.get(answers=ask).public_id))
    assert 'asked: "EU"' in told
    assert '- user: "but not the drafts"' in told


@pytest.mark.case("C71", "C72")
@pytest.mark.parametrize("scopes", [("run:create", "run:read", "ask:create")])
def test_an_agents_key_answers_nothing(agent: Agent, caller: Caller, scopes: Any) -> None:
    theirs = Caller(key_for(agent, None, scopes, name="agent"))
    paused = theirs.ask()

    no = refused(lambda: theirs.answer(paused, "EU"))

    assert (no.status, no.code) == (403, "not_permitted")
    assert "Attempted self-approval" in Refusal.objects.get().detail
    assert ask_of(paused).status == AskStatus.OPEN


def test_a_persons_key_without_the_scope_answers_nothing(
    agent: Agent, owner: User, caller: Caller
) -> None:
    theirs = Caller(key_for(agent, owner, ("run:create", "run:read"), name="reader"))
    paused = caller.ask()

    no = refused(lambda: theirs.answer(paused, "EU"))

    assert (no.status, no.code) == (403, "not_permitted")
    assert ask_of(paused).status == AskStatus.OPEN


def test_a_stranger_learns_nothing_of_a_response(stranger: User, caller: Caller) -> None:
    paused = caller.ask()
    theirs = Caller(key_for(None, stranger, name="stranger"))

    for what in (
        service.retrieve_response,
        service.cancel_response,
        service.delete_response,
        service.list_input_items,
    ):
        assert refused(lambda what=what: theirs.call(what, paused["id"])).status == 404
    no = refused(lambda: theirs.answer(paused, "EU"))
    assert (no.status, no.code) == (400, "previous_response_not_found")
    assert ask_of(paused).status == AskStatus.OPEN


def test_a_key_without_a_person_sees_only_what_it_asked_for(agent: Agent, caller: Caller) -> None:
    mine = caller.create("hello")
    theirs = Caller(key_for(agent, None, ("run:create", "run:read"), name="agent"))

    assert refused(lambda: theirs.call(service.retrieve_response, mine["id"])).status == 404
    their_own = theirs.create("hello")
    assert theirs.call(service.retrieve_response, their_own["id"])[1]["id"] == their_own["id"]


def test_no_second_answer_while_the_first_runs(caller: Caller) -> None:
    paused = caller.ask()
    under_way = caller.send(
        previous_response_id=paused["id"], input=[result(asked(paused)["call_id"], "EU")]
    )

    no = refused(lambda: caller.send(previous_response_id=under_way["id"], input="And then?"))

    assert (no.status, no.code) == (400, "previous_response_in_progress")


@pytest.mark.case("responses-C35")
def test_a_withdrawn_question_runs_nothing_and_takes_no_answer(caller: Caller, owner: User) -> None:
    paused = caller.ask()
    withdrawing.withdraw_ask(ask_id=ask_of(paused).pk, by=owner, reason="not needed")

    ended = carry_all()

    assert [one.report for one in ended] == [
        "The question was closed without an answer. Nothing was run."
    ]
    assert Response.objects.count() == 1
    assert refused(lambda: caller.answer(paused, "EU")).status == 409
    assert Response.objects.count() == 1


@pytest.mark.case("responses-C35")
def test_an_expired_question_runs_nothing_and_takes_no_answer(caller: Caller) -> None:
    from django.utils import timezone

    from asks.deadlines import expiry

    paused = caller.ask()
    Ask.objects.update(expires_at=timezone.now())

    no = refused(lambda: caller.answer(paused, "EU"))
    expiry.expire_due_asks()
    carry_all()

    assert (no.status, no.code) == (409, "expired")
    assert no.headers["x-should-retry"] == "false"
    assert Response.objects.count() == 1
    assert not Verdict.objects.exists()


@pytest.mark.case("responses-S28")
def test_without_its_original_request_a_resumed_turn_fails(caller: Caller) -> None:
    paused = caller.ask()
    Response.objects.update(request=None)

    failed = caller.answer(paused, "EU")

    assert failed["status"] == "failed"
    assert "could not be recovered" in failed["error"]["message"]
    assert failed["output"] == []


def test_an_answer_whose_turn_failed_is_carried_again_when_a_person_says_so(
    owner: User, tmp_path: Path
) -> None:
    script = (
        "if '# The answer' in prompt:\n    print('done') if os.environ.get('HEALED') else sys.exit(1)\n"
        "else:\n    " + question()
    )
    agent = hybrid_agent(owner, command=brain(tmp_path, script))
    caller = Caller(key_for(agent, owner))
    paused = caller.create(REQUEST)
    failed = caller.answer(paused, "EU")
    assert failed["status"] == "failed"
    assert InboxItem.objects.filter(kind="verdict", state="queued").exists()
    assert row(failed).session.state == SessionState.PAUSED

    agent.refresh_from_db()
    Agent.objects.update(settings={**agent.settings, "env": {"HEALED": "1"}})
    controls.resume_session(session_id=row(failed).session_id, by=owner)
    carry_all()

    again = Response.objects.order_by("pk").last()
    assert again is not None
    assert again.status == "completed"
    assert again.previous == row(paused)
    assert again.inputs.get().data["output"] == "EU"
    assert not InboxItem.objects.exclude(state="acked").exists()


def test_what_comes_for_two_responses_at_once_is_done_one_after_the_other(
    caller: Caller, owner: User
) -> None:
    """An answer and words arrive while a turn runs: each gets a turn of its own, nothing is lost."""
    paused = caller.ask()
    other = caller.send(previous_response_id=paused["id"], input="unrelated")
    turn = claimed()
    assert turn is not None
    child = caller.send(
        previous_response_id=paused["id"], input=[result(asked(paused)["call_id"], "EU")]
    )
    messages.post_message(session_id=row(paused).session_id, by=owner, text="and a word")
    from agents import settlement
    from agents.running.runtime import Ended

    ended = play(turn)[-1]
    assert isinstance(ended, Ended)
    settlement.settle_run(turn.fence, ended)
    carry_all()

    assert "Nothing to decide. unrelated" in words(body(other["id"]))
    assert "Reconciled EU" in words(body(child["id"]))
    said = [words(body(name)) for name in Response.objects.values_list("public_id", flat=True)]
    assert any("Nothing to decide. and a word" in text for text in said)
    assert Run.objects.filter(response=None).count() == 0
    assert not InboxItem.objects.exclude(state="acked").exists()


def test_words_from_the_last_response_go_on_in_its_session_and_from_an_older_one_fork(
    caller: Caller,
) -> None:
    first = caller.create("one")
    second = caller.create(previous_response_id=first["id"], input="two")
    fork = caller.create(previous_response_id=first["id"], input="three")

    assert row(second).session_id == row(first).session_id
    assert row(fork).session_id != row(first).session_id
    assert fork["previous_response_id"] == first["id"]


def test_the_brain_is_told_what_was_said_before(owner: User, tmp_path: Path) -> None:
    caller = Caller(key_for(hybrid_agent(owner, command=brain(tmp_path, "print(prompt)")), owner))
    first = caller.create("call me Ishmael")

    told = words(caller.create(previous_response_id=first["id"], input="who am I?"))

    assert '- user: "call me Ishmael"' in told
    assert '{"text": "who am I?"}' in told


@pytest.mark.case("responses-S52")
def test_a_paused_response_cannot_be_cancelled(caller: Caller) -> None:
    paused = caller.ask(background=True)

    no = refused(lambda: caller.call(service.cancel_response, paused["id"]))

    assert (no.status, no.param) == (400, "response_id")
    assert ask_of(paused).status == AskStatus.OPEN


@pytest.mark.case("responses-S53")
def test_deleting_a_paused_response_withdraws_its_question(caller: Caller, owner: User) -> None:
    paused = caller.ask()
    ask = ask_of(paused)

    caller.call(service.delete_response, paused["id"])

    ask.refresh_from_db()
    assert (ask.status, ask.closed_by) == (AskStatus.WITHDRAWN, owner)
    no = refused(lambda: caller.answer(paused, "EU"))
    assert (no.status, no.code) == (400, "previous_response_not_found")
    assert RunStatus.WAITING_HUMAN not in Run.objects.values_list("status", flat=True)


@pytest.mark.case("responses-S53")
def test_an_agents_key_cannot_delete_a_question_away(agent: Agent) -> None:
    theirs = Caller(key_for(agent, None, ("run:create", "run:read"), name="agent"))
    paused = theirs.ask()

    assert refused(lambda: theirs.call(service.delete_response, paused["id"])).status == 403
    assert ask_of(paused).status == AskStatus.OPEN


def test_a_response_under_way_cannot_be_deleted(caller: Caller) -> None:
    made = caller.send(input="hello")

    assert refused(lambda: caller.call(service.delete_response, made["id"])).status == 400
