"""A turn that asks: its item, its envelope, and what a turn that must not ask comes to."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import claims, settlement
from agents.lifecycle import RunStatus, SessionState, Status
from agents.models import Agent, Run
from agents.running.runtime import Ended
from asks.models import Ask
from asks.queue import queries
from tests.factories import home_of
from tests.responses.world import (
    REQUEST,
    REQUEST_ID,
    Caller,
    arguments,
    ask_of,
    asked,
    body,
    brain,
    carry_all,
    claimed,
    directory_of,
    events,
    hybrid_agent,
    key_for,
    play,
    question,
    row,
    steps,
    words,
)
from workspace.protocols.responses.models import Response

pytestmark = pytest.mark.django_db


def with_brain(owner: User, folder: Path, script: str, **settings: Any) -> Caller:
    agent = hybrid_agent(owner, command=brain(folder, script), **settings)
    return Caller(key_for(agent, owner))


@pytest.mark.case("responses-S1", "responses-S45")
def test_a_turn_that_asks_nothing_ends_green(caller: Caller) -> None:
    found = caller.create("hello")

    assert found["status"] == "completed"
    assert found["envelope"]["status"] == "ok"
    assert found["envelope"]["output"] == {"hitl_paused": False}
    assert found["metadata"]["hitl_paused"] == "false"
    assert words(found).startswith("Nothing to decide. hello")


@pytest.mark.case("responses-S16", "responses-S17", "C110")
def test_a_pause_completes_the_response_after_its_steps(caller: Caller) -> None:
    paused = caller.ask()

    assert paused["status"] == "completed"
    assert paused["envelope"]["status"] == "awaiting_human"
    assert paused["envelope"]["output"] == {"hitl_paused": True}
    assert paused["metadata"] == {"envelope_status": "awaiting_human", "hitl_paused": "true"}
    assert steps(paused) == ["load_ledger", "reconcile"]
    assert paused["output"][-1] == asked(paused)
    assert events(paused)[-1]["type"] == "response.completed"


@pytest.mark.case("responses-S10", "responses-S13")
def test_a_questions_id_is_the_brains_stem_and_a_random_end(caller: Caller) -> None:
    item = asked(caller.ask())

    assert REQUEST_ID.fullmatch(item["call_id"])
    assert item["call_id"].startswith("ledger-choice.")
    assert item["call_id"] == json.loads(item["arguments"])["request_id"] != item["name"]


@pytest.mark.case("responses-S11")
@pytest.mark.parametrize(
    "wish", ["a b", "a/b", "a.b", "", "-a", "ä", "a" * 52, 7, None, ["a"], "a\n"]
)
def test_a_malformed_wish_becomes_req(owner: User, tmp_path: Path, wish: object) -> None:
    script = question(request_id=wish, question="Which?")

    item = asked(with_brain(owner, tmp_path, script).create(REQUEST))

    assert item["call_id"].startswith("req.")
    assert REQUEST_ID.fullmatch(item["call_id"])


@pytest.mark.case("responses-S12")
@pytest.mark.parametrize("wish", ["ledger", "a" * 51, "ledger-7f3a2c91b0de"])
def test_a_random_end_is_always_added(owner: User, tmp_path: Path, wish: str) -> None:
    caller = with_brain(owner, tmp_path, question(request_id=wish, question="Which?"))

    one, other = (asked(caller.create(REQUEST))["call_id"] for _ in range(2))

    assert one != other
    assert one.rpartition(".")[0] == other.rpartition(".")[0] == wish
    assert len(one) <= 64


@pytest.mark.case("responses-S19", "responses-S20")
def test_the_arguments_are_the_seeds_as_a_json_string(caller: Caller) -> None:
    request = REQUEST | {"scenario": "ask", "unknown": [1, {"a": None}]}

    item = asked(caller.create(request))

    assert json.loads(item["arguments"]) == {
        "request_id": item["call_id"],
        "request_event": {
            "type": "request_info",
            "data": {"question": "Which ledger: EU or US?"},
        },
        "options": ["EU", "US"],
        "request": request,
        "resume_state": request,
    }


@pytest.mark.case("responses-S19")
def test_a_free_question_has_no_options(caller: Caller) -> None:
    assert "options" not in arguments(caller.ask("ask_free"))


@pytest.mark.case("responses-C18")
def test_the_owner_is_the_blocker_and_nothing_is_held(caller: Caller, owner: User) -> None:
    paused = caller.ask()

    session, run = row(paused).session, row(paused).run
    assert session.status == Status.WAITING_HUMAN
    assert run is not None
    assert (run.status, run.process) == (RunStatus.WAITING_HUMAN, {})
    assert queries.count_badge(owner) == 1
    assert ask_of(paused).context == {"request": REQUEST | {"scenario": "ask"}}


@pytest.mark.case("responses-S2", "responses-S3", "responses-S4", "responses-S5", "responses-S6")
@pytest.mark.case("responses-S7", "responses-S9", "C111")
@pytest.mark.parametrize(
    "scenario",
    [
        "malformed",
        "not_object",
        "no_question",
        "bad_options",
        "unreadable",
        "symlink",
        "fifo",
        "dir_gone",
    ],
)
def test_a_bad_question_fails_the_run_after_its_steps(caller: Caller, scenario: str) -> None:
    failed = caller.ask(scenario)

    assert failed["status"] == "failed"
    assert failed["envelope"]["status"] == "failed"
    assert failed["error"]["code"] == "server_error"
    assert failed["error"]["message"].startswith("hitl_request.json ")
    assert steps(failed) == ["load_ledger", "reconcile"]
    assert events(failed)[-1]["type"] == "response.failed"
    assert not Ask.objects.exists()
    run = row(failed).run
    assert run is not None
    assert run.status == RunStatus.FAILED


@pytest.mark.case("responses-S8")
def test_a_left_over_question_is_never_asked_again(owner: User, tmp_path: Path) -> None:
    script = "if '# The answer' not in prompt:\n    " + question()
    caller = with_brain(owner, tmp_path, script)
    paused = caller.create(REQUEST)
    assert (directory_of(paused) / "hitl_request.json").exists()

    done = caller.answer(paused, "EU")

    assert done["envelope"]["status"] == "ok"
    assert Ask.objects.count() == 1


@pytest.mark.case("responses-S48")
def test_a_question_of_an_agent_that_may_not_ask_fails(owner: User, tmp_path: Path) -> None:
    failed = with_brain(owner, tmp_path, question(), hitl=False).create(REQUEST)

    assert failed["status"] == "failed"
    assert "may not ask" in failed["error"]["message"]
    assert not Ask.objects.exists()


@pytest.mark.case("responses-S54")
def test_the_note_about_asking_is_told_only_to_who_may_ask(owner: User, tmp_path: Path) -> None:
    script, note = "print(prompt)", "Ask as little as you can."
    may = with_brain(owner, tmp_path, script, hitl_note=note).create(REQUEST)
    agent = hybrid_agent(
        owner, slug="silent", command=brain(tmp_path, script), hitl_note=note, hitl=False
    )
    may_not = Caller(key_for(agent, owner, name="other")).create(REQUEST)

    assert note in words(may)
    assert note not in words(may_not)


@pytest.mark.case("responses-S43")
def test_the_ceiling_is_for_one_turn(caller: Caller) -> None:
    paused = caller.ask()
    done = caller.answer(paused, "EU")

    assert (paused["envelope"]["cost_usd"], done["envelope"]["cost_usd"]) == (0.4, 0.4)
    assert done["status"] == "completed"
    assert done["envelope"]["chain"] == {"turns": 2, "cost_usd": 0.8}


@pytest.mark.case("responses-S43")
def test_a_turn_above_the_ceiling_fails_and_tells_what_it_cost(caller: Caller) -> None:
    failed = caller.ask("expensive")

    assert failed["status"] == "failed"
    assert "0.6 USD" in failed["error"]["message"]
    assert failed["envelope"]["cost_usd"] == 0.6


@pytest.mark.case("responses-S43")
def test_a_brain_is_ended_when_it_has_spent_too_much(owner: User, tmp_path: Path) -> None:
    """It would go on for an hour and leave a mark at its end."""
    script = """
    print(json.dumps({"type": "cost", "usd": 0.3}), flush=True)
    print(json.dumps({"type": "cost", "usd": 0.3}), flush=True)
    time.sleep(3600)
    """

    failed = with_brain(owner, tmp_path, script, wall_clock_seconds=30).create(REQUEST)

    assert failed["status"] == "failed"
    assert "USD" in failed["error"]["message"]


def test_a_ceiling_that_cannot_be_held_is_said(owner: User, tmp_path: Path) -> None:
    found = with_brain(owner, tmp_path, "print('done')").create(REQUEST)

    said = row(found).session.events.get(kind="ignored")
    assert "no cost" in said.data["why"]
    assert found["status"] == "completed"


@pytest.mark.case("responses-S46")
def test_a_mandatory_gate_that_was_not_opened_fails(caller: Caller) -> None:
    failed = caller.ask("plain", mandatory_gate=True)

    assert failed["status"] == "failed"
    assert failed["envelope"]["output"] == {"hitl_paused": False}
    assert "nothing was published" in failed["error"]["message"]


@pytest.mark.case("responses-S46")
def test_publishing_past_a_mandatory_gate_fails_and_alerts(owner: User, tmp_path: Path) -> None:
    script = "pathlib.Path('published.json').write_text('{}')"

    failed = with_brain(owner, tmp_path, script, mandatory_gate=True).create(REQUEST)

    assert "without asking" in failed["error"]["message"]
    assert (
        row(failed).session.events.filter(kind="notice", text__contains="mandatory gate").exists()
    )


@pytest.mark.case("responses-S47")
def test_a_mandatory_gate_holds_the_first_turn_only(caller: Caller) -> None:
    paused = caller.ask(mandatory_gate=True)

    assert paused["envelope"]["status"] == "awaiting_human"
    assert caller.answer(paused, "EU")["status"] == "completed"


def test_the_agents_own_check_decides_too(owner: User, tmp_path: Path) -> None:
    """It is told how the turn ended, and its last words are shown."""
    check = brain(
        tmp_path,
        "facts = json.loads(prompt)\n"
        "sys.exit(0 if facts['request'].get('fine') else 'not fine: ' + str(facts['first_turn']))",
    )
    caller = with_brain(owner, tmp_path, "print('done')", postprocess=check)

    assert caller.create({"fine": True})["status"] == "completed"
    failed = caller.create({"fine": False})
    assert failed["error"]["message"].endswith("did not pass. not fine: True")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("sys.exit('out of ideas')", "exit code 1. out of ideas"),
        ("os.kill(os.getpid(), 9)", "exit code -9."),
        ("print('a' * 2000)", "more than 1024 bytes"),
        ("time.sleep(60)", "longer than 1 seconds"),
    ],
)
def test_a_brain_that_ends_badly_fails_in_words(
    owner: User, tmp_path: Path, script: str, said: str
) -> None:
    limits = {"output_limit_bytes": 1024, "wall_clock_seconds": 1}

    failed = with_brain(owner, tmp_path, question() + script, **limits).create(REQUEST)

    assert failed["status"] == "failed"
    assert said in failed["error"]["message"]
    assert not Ask.objects.exists()


def test_what_a_caller_was_told_had_failed_is_tried_again_by_a_person_only(
    owner: User, tmp_path: Path
) -> None:
    script = "sys.exit(0 if os.environ.get('HEALED') else 1)"
    caller = with_brain(owner, tmp_path, script)
    failed = caller.create(REQUEST)
    session = row(failed).session
    assert session.state == SessionState.PAUSED
    assert not Run.objects.filter(status=RunStatus.QUEUED).exists()

    Agent.objects.update(settings={**session.agent.settings, "env": {"HEALED": "1"}})
    from agents import controls

    controls.resume_session(session_id=session.pk, by=owner)
    carry_all()

    again = Response.objects.exclude(pk=row(failed).pk).get()
    assert again.request == REQUEST
    assert again.status == "completed"
    assert body(failed["id"])["status"] == "failed"


@pytest.mark.case("responses-S21")
def test_a_crash_between_question_and_completion_never_ends_green(
    owner: User, tmp_path: Path
) -> None:
    """The worker dies when the brain has asked; another one takes the run over."""
    caller = with_brain(owner, tmp_path, question())
    made = caller.send(input=json.dumps(REQUEST))
    turn = claimed()
    assert turn is not None
    assert isinstance(play(turn)[-1], Ended)
    assert body(made["id"])["status"] == "in_progress"
    assert not Ask.objects.exists()

    Run.objects.filter(pk=turn.run_id).update(lease_until=_long_ago())
    again = claims.claim_run(run_id=turn.run_id, worker="another")
    assert again is not None
    ended = play(again)[-1]
    assert isinstance(ended, Ended)
    assert settlement.settle_run(again.fence, ended)

    paused = body(made["id"])
    assert paused["envelope"]["status"] == "awaiting_human"
    assert Ask.objects.count() == 1
    assert not settlement.settle_run(turn.fence, ended)
    numbers = [event["sequence_number"] for event in events(paused)]
    assert numbers == list(range(len(numbers)))


def _long_ago() -> object:
    from django.utils import timezone

    return timezone.now() - timedelta(hours=1)


def test_a_schedule_or_a_click_starts_the_default_request(owner: User, tmp_path: Path) -> None:
    from agents import controls

    agent = hybrid_agent(owner, command=brain(tmp_path, question()), default_request=REQUEST)
    home = home_of(agent)
    controls.start_session(session_id=home.pk, by=owner)
    carry_all()

    response = Response.objects.get(session=home)
    assert response.request == REQUEST
    assert response.paused
    assert Ask.objects.get(session=home).context == {"request": REQUEST}


@pytest.mark.parametrize(
    "request_", [{f"k{n}\u2028": "«é»" * 900 for n in range(99)}, {"k" * 9999: "v" * 99_999}]
)
def test_a_request_of_any_size_is_asked_about(
    owner: User, tmp_path: Path, request_: dict[str, str]
) -> None:
    paused = with_brain(owner, tmp_path, question()).create(request_)

    assert arguments(paused)["request"] == request_
    assert len(json.dumps(ask_of(paused).context)) < 64 * 1024
