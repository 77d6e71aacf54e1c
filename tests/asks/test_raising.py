"""What a run asks becomes rows: once per request, whole, and said in the thread."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents import messages
from agents.lifecycle import Outcome, RunStatus, Status
from agents.models import Run, Session
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, AskStatus, Style
from asks.models import Ask
from asks.withdrawing import withdraw_ask
from tests.factories import (
    REFUND,
    AskFactory,
    ask,
    claim,
    draft,
    echo_of,
    finish,
    turn_of,
    verdict_on,
)

pytestmark = pytest.mark.django_db


def ignored_in(session: Session) -> list[str]:
    return [event.data["why"] for event in session.events.filter(kind="ignored").order_by("seq")]


def next_turn_asks(session: Session, by: User, *drafts: AskDraft) -> Run:
    """Let the session go on by a person's message, and ask in its next turn."""
    messages.post_message(session_id=session.pk, by=by, text="Go on.")
    return finish(claim(session.runs.latest("number")), Outcome.BLOCKED, asks=drafts)


@pytest.mark.case("aoa-5")
def test_a_question_parks_the_run_and_says_why(session: Session) -> None:
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("k", "Which **ledger**?"),))
    session.refresh_from_db()
    asked = Ask.objects.get()
    assert (run.status, run.open_asks, run.lease_until) == (RunStatus.WAITING_HUMAN, 1, None)
    assert (session.status, session.open_asks, session.wake_at) == (Status.WAITING_HUMAN, 1, None)
    assert session.status_reason == "It waits for an answer. No process is running."
    assert (asked.status, asked.kind, asked.prompt) == (
        AskStatus.OPEN,
        AskKind.QUESTION,
        "Which **ledger**?",
    )
    assert "<strong>ledger</strong>" in asked.prompt_html
    assert [(o.key, o.label, o.position) for o in asked.options.all()] == [
        ("eu", "EU ledger", 0),
        ("us", "US ledger", 1),
    ]
    event = session.events.get(kind="asked")
    assert event.data == {"ask_id": asked.pk, "options": ["EU ledger", "US ledger"]}


def test_a_question_without_options_is_answered_in_words(session: Session) -> None:
    assert AskFactory(session=session, options=(), free_text=False).free_text


@pytest.mark.parametrize("outcome", [Outcome.WORK_DONE, Outcome.NO_WORK, Outcome.BLOCKED])
def test_an_open_question_parks_the_run_whatever_it_says(
    session: Session, outcome: Outcome
) -> None:
    run = turn_of(session, outcome, asks=(draft(),))
    assert run.status == RunStatus.WAITING_HUMAN


@pytest.mark.case("aoa-52")
@pytest.mark.parametrize("outcome", [Outcome.RETRYABLE_ERROR, Outcome.RATE_LIMITED])
def test_a_failed_turn_asks_nothing(session: Session, outcome: Outcome) -> None:
    run = turn_of(session, outcome, asks=(draft(),))
    assert run.status == RunStatus.FAILED
    assert not Ask.objects.exists()


def test_an_action_is_bound_and_numbered(session: Session) -> None:
    first, second = ask(session, draft(action=REFUND), draft(action=ActionDraft("deploy", {})))
    assert [first.gate.number, second.gate.number] == [0, 1]
    assert first.gate.params == {"charge": "ch_1", "amount": 48}
    assert (first.gate.policy_version, first.gate.run_version) == (0, "1.1")
    assert first.kind == AskKind.APPROVAL
    session.refresh_from_db()
    assert session.gate_count == 2


@pytest.mark.parametrize(
    "params",
    [
        {"x": 1e21},
        {"x": -0.0},
        {"x": 1.0},
        {"x": 5e-324},
        {"x": 1.7976931348623157e308},
        [],
        "s",
        0,
        None,
        {"x": 123456789012345680000.0},
        {"\u20ac": "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")},
    ],
)
def test_an_action_is_the_same_after_it_was_stored(
    session: Session, owner: User, params: Any
) -> None:
    """PostgreSQL writes numbers its own way: it must not make an honest answer stale."""
    asked = AskFactory(session=session, action=ActionDraft("x", params))
    result = answer_ask(ask_id=asked.pk, by=owner, option="approve", echo=echo_of(asked))
    assert isinstance(result, Answered), result


BAD: list[tuple[dict[str, Any], str]] = [
    ({"prompt": "  \u200b "}, "The question has no text."),
    ({"prompt": "x" * 20_001}, "The question has 20001 characters; the limit is 20000."),
    ({"key": "k" * 191}, "The request key must have 1 to 190 characters."),
    ({"key": "k\0"}, "The request key must have 1 to 190 characters."),
    (
        {"options": [OptionDraft(str(n), "x") for n in range(61)]},
        "There are 61 options; the limit is 60.",
    ),
    ({"options": [OptionDraft("a", "A"), OptionDraft("a", "B")]}, "Two options have the same id."),
    ({"options": [OptionDraft("a", "\u200b")]}, "An option has no label or no id."),
    ({"options": [OptionDraft("", "A")]}, "An option has no label or no id."),
    (
        {"options": [OptionDraft("a", "x" * 4001)]},
        "An option is too long: the limit is 4000 characters.",
    ),
    (
        {"options": [OptionDraft("a", "A", "x" * 4001)]},
        "An option is too long: the limit is 4000 characters.",
    ),
    (
        {"options": [OptionDraft("k" * 101, "A")]},
        "An option is too long: the limit is 4000 characters.",
    ),
    (
        {"options": [OptionDraft("a", "A\0")]},
        "An option contains a character that cannot be stored.",
    ),
    (
        {"options": [OptionDraft("a\ud800", "A")]},
        "An option contains a character that cannot be stored.",
    ),
    (
        {"expires_in": timedelta(0)},
        "The time to answer must be more than zero and at most ten years.",
    ),
    (
        {"expires_in": timedelta(seconds=-1)},
        "The time to answer must be more than zero and at most ten years.",
    ),
    (
        {"expires_in": timedelta.max},
        "The time to answer must be more than zero and at most ten years.",
    ),
    ({"context": {"x": "y" * 65_537}}, "The context has more than 65536 bytes."),
    ({"action": ActionDraft(" ", {})}, "The operation must have 1 to 200 characters."),
    ({"action": ActionDraft("x" * 201, {})}, "The operation must have 1 to 200 characters."),
    (
        {"action": ActionDraft("x", {"n": float("nan")})},
        "The action cannot be bound. nan is not a number in JSON.",
    ),
    (
        {"action": ActionDraft("x\0", {})},
        "The action cannot be bound. A text contains a NUL or half of a character.",
    ),
    (
        {"action": ActionDraft("x", {"\ud800": 1})},
        "The action cannot be bound. A text contains a NUL or half of a character.",
    ),
]


@pytest.mark.parametrize(("flaw", "why"), BAD)
def test_what_cannot_be_asked_is_said_and_the_rest_is_asked(
    session: Session, flaw: dict[str, Any], why: str
) -> None:
    good = draft("good")
    run = turn_of(session, Outcome.BLOCKED, asks=(draft(**flaw), good))
    assert ignored_in(session) == [why]
    assert [asked.request_key for asked in run.asks.all()] == ["good"]
    assert run.open_asks == 1


@pytest.mark.case("C97")
def test_what_is_kept_of_a_strange_but_askable_draft(session: Session) -> None:
    context = {"a\0": "b\ud800", "n": float("inf"), "deep": [[[{"x": (1, 2)}]]], "o": object}
    asked = AskFactory(session=session, prompt=" What\0 \ud800 now? ", context=context)
    asked.refresh_from_db()
    assert asked.prompt == "What\ufffd \ufffd now?"
    assert asked.context["a\ufffd"] == "b\ufffd"
    assert asked.context["n"] is None
    assert asked.context["deep"] == [[[{"x": [1, 2]}]]]


@pytest.mark.parametrize("text", ["c:\\u0000", "\\ud800"])
def test_a_backslash_and_letters_are_no_bad_character(session: Session, text: str) -> None:
    asked = AskFactory(session=session, action=ActionDraft("x", {"path": text}))
    asked.gate.refresh_from_db()
    assert asked.gate.params == {"path": text}


@pytest.mark.case("X10", "C56")
def test_a_request_is_raised_once_in_a_turn(session: Session) -> None:
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("k"), draft("k"), draft("other")))
    assert sorted(run.asks.values_list("request_key", flat=True)) == ["k", "other"]
    assert run.open_asks == 2


def test_an_open_request_asked_again_by_a_later_run_is_the_same_ask(
    session: Session, owner: User
) -> None:
    asked = AskFactory(session=session, key="k")
    later = next_turn_asks(session, owner, draft("k"))
    assert list(Ask.objects.all()) == [asked]
    assert later.status == RunStatus.COMPLETED
    session.refresh_from_db()
    assert (session.status, session.open_asks) == (Status.WAITING_HUMAN, 1)


def test_an_open_request_with_other_words_is_replaced(session: Session, owner: User) -> None:
    old = AskFactory(session=session, key="k")
    next_turn_asks(session, owner, draft("k", "Which ledger, and by when?"))
    old.refresh_from_db()
    fresh = Ask.objects.get(status=AskStatus.OPEN)
    assert (old.status, old.superseded_by) == (AskStatus.SUPERSEDED, fresh)
    assert (fresh.request_key, fresh.prompt) == ("k~2", "Which ledger, and by when?")
    session.refresh_from_db()
    assert session.open_asks == 1


def test_two_different_wordings_in_one_turn_leave_the_last(session: Session) -> None:
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("k", "One?"), draft("k", "Two?")))
    assert list(run.asks.order_by("pk").values_list("prompt", "status")) == [
        ("One?", "superseded"),
        ("Two?", "open"),
    ]
    assert run.open_asks == 1
    session.refresh_from_db()
    assert session.open_asks == 1


def test_another_action_never_inherits_an_approval(session: Session, owner: User) -> None:
    """Approved for 100, asked again under the same key for a million: a new ask."""
    hundred, million = ActionDraft("pay", {"amount": 100}), ActionDraft("pay", {"amount": 10**6})
    verdict_on(AskFactory(session=session, key="k", action=hundred), owner)
    run = next_turn_asks(session, owner, draft("k", action=million))
    (fresh,) = run.asks.all()
    assert (fresh.request_key, fresh.status, fresh.gate.params) == (
        "k~2",
        "open",
        {"amount": 10**6},
    )


def test_not_even_the_same_action_inherits_an_approval(session: Session, owner: User) -> None:
    verdict_on(AskFactory(session=session, key="k", action=REFUND), owner)
    run = next_turn_asks(session, owner, draft("k", action=REFUND))
    assert [asked.status for asked in run.asks.all()] == ["open"]


def test_an_open_approval_proposed_again_is_bound_to_the_new_run(
    session: Session, owner: User
) -> None:
    old = AskFactory(session=session, key="k", action=REFUND)
    run = next_turn_asks(session, owner, draft("k", action=REFUND))
    (fresh,) = run.asks.all()
    old.refresh_from_db()
    assert old.superseded_by == fresh
    assert fresh.gate.run_version == "2.1"
    assert isinstance(
        answer_ask(ask_id=fresh.pk, by=owner, option="approve", echo=echo_of(fresh)), Answered
    )


def test_a_question_that_was_answered_is_told_its_answer_at_once(
    session: Session, owner: User
) -> None:
    verdict_on(AskFactory(session=session, key="k"), owner, option="us")
    finish(claim(session.runs.latest("number")))
    run = turn_of(session, Outcome.BLOCKED, asks=(draft("k"),))
    assert run.status == RunStatus.CONTINUED
    assert Ask.objects.count() == 1
    (given,) = claim(session.runs.latest("number")).given
    assert (given.body, given.data["option"]) == ("US ledger", "us")


def test_a_run_that_was_told_and_asks_again_asks_a_person(session: Session, owner: User) -> None:
    """Otherwise a forgetful agent would be answered by nobody, for ever."""
    verdict_on(AskFactory(session=session, key="k"), owner, option="us")
    run = finish(claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft("k"),))
    assert [(a.request_key, a.status) for a in run.asks.all()] == [("k~2", "open")]
    assert run.status == RunStatus.WAITING_HUMAN


def test_a_withdrawn_request_may_be_asked_again(session: Session, owner: User) -> None:
    asked = AskFactory(session=session, key="k")
    withdraw_ask(ask_id=asked.pk, by=owner)
    run = finish(claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft("k"),))
    assert [(a.request_key, a.status) for a in run.asks.all()] == [("k~2", "open")]


def test_keys_that_look_like_repetitions_do_not_collide(session: Session, owner: User) -> None:
    """The protocol's own keys may end in ~2, and be as long as keys may be."""
    long = "k" * 190
    for asked in ask(session, draft("k"), draft("k~2"), draft(long)):
        withdraw_ask(ask_id=asked.pk, by=owner)
    run = finish(
        claim(session.runs.latest("number")), Outcome.BLOCKED, asks=(draft("k"), draft(long))
    )
    assert ignored_in(session) == []
    assert sorted(run.asks.values_list("request_key", flat=True)) == [f"{long}~2", "k~3"]
    assert set(run.asks.values_list("repeats__request_key", flat=True)) == {"k", long}


def test_a_draft_cannot_ask_to_be_approved_by_time() -> None:
    with pytest.raises(TypeError):
        AskDraft(request_key="k", prompt="Pay?", on_expire="approve")  # type: ignore[call-arg]


@pytest.mark.parametrize("junk", [object(), "ASK: what?", {"prompt": "What?"}])
def test_what_is_no_draft_is_a_mistake_of_ours(session: Session, junk: object) -> None:
    with pytest.raises(TypeError, match="is not an AskDraft"):
        turn_of(session, Outcome.BLOCKED, asks=(junk,))


def test_an_option_keeps_its_looks(session: Session) -> None:
    asked = AskFactory(
        session=session, options=[OptionDraft("drop", "Drop it", "All of it.", Style.DANGER)]
    )
    option = asked.options.get()
    assert (option.style, option.detail, option.meaning) == (Style.DANGER, "All of it.", "answer")
