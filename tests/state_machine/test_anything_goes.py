"""People, workers, agents and time act in any order, and the promises hold after each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agents import claims, controls, messages, settlement
from agents.db.expressions import database_now
from agents.jobs import tick
from agents.lifecycle import (
    COMPLETED_OUTCOMES,
    InboxState,
    Outcome,
    RunStatus,
    SessionState,
)
from agents.models import Agent, InboxItem, Run, Session
from agents.registration import open_session
from agents.running.runtime import Ended, Fence, Mail, Turn
from asks.answering import Answered, answer_ask
from asks.backlog import reopen_ask
from asks.deadlines.expiry import expire_due_asks
from asks.drafts import AskDraft
from asks.lifecycle import AskStatus
from asks.models import Ask, Verdict
from asks.refusals import Refused
from asks.retirement import retire_agent
from asks.withdrawing import withdraw_ask
from tests.factories import (
    REFUND,
    AgentFactory,
    UserFactory,
    ask,
    draft,
    echo_of,
    home_of,
    verdict_on,
)
from tests.state_machine.promises import check_all

PICK = st.integers(0, 7)
PAST = timedelta(seconds=1)
OUTCOMES = st.sampled_from([*Outcome, Outcome.BLOCKED, Outcome.BLOCKED])
QUESTIONS: st.SearchStrategy[list[str]] = st.lists(
    st.sampled_from(["one", "two", "bound", "again"]), min_size=1, max_size=3
) | st.just([])
RECIPIENTS = st.sampled_from(["", "", "a", "b", "nobody"])
R = TypeVar("R", bound=Model)


def one_of(rows: QuerySet[R], pick: int) -> R:
    """Pick one of the rows."""
    found = list(rows.order_by("pk"))
    return found[pick % len(found)]


def runs(*statuses: RunStatus) -> QuerySet[Run]:
    return Run.objects.filter(status__in=statuses)


def asks(status: AskStatus) -> QuerySet[Ask]:
    return Ask.objects.filter(status=status)


def there_are(rows: Callable[[], QuerySet[Any]]) -> Callable[[Any], Any]:
    """Run a rule only while it has something to do."""
    return precondition(lambda _: rows().exists())


class Workspace(RuleBasedStateMachine):
    """Two agents of one owner and three sessions, in a transaction that is rolled back."""

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        self.owner: User = UserFactory()
        self.agents: list[Agent] = [
            AgentFactory(slug="a", owners=[self.owner], wake={"kind": "continuous"}),
            AgentFactory(slug="b", owners=[self.owner], wake={"kind": "on_message"}),
        ]
        self.turns: dict[int, Turn] = {}
        self.lost: list[Turn] = []
        self.carried: Counter[int] = Counter()
        self.begin_in_the_middle()

    def begin_in_the_middle(self) -> None:
        """One session waits for two answers, one runs with a message, one has a verdict in its inbox."""
        waiting, running = map(home_of, self.agents)
        answered = open_session(self.agents[0])
        claims.claim_run(run_id=waiting.runs.get().pk, worker="first")
        for run in runs(RunStatus.RUNNING):
            fence = Fence(run.pk, run.session_id, run.epoch)
            two = (draft("1:one"), draft("1:bound", action=REFUND))
            settlement.settle_run(fence, Ended(outcome=Outcome.BLOCKED, asks=two))
        verdict_on(ask(answered, draft("1:one"))[0], self.owner)
        woken = messages.post_message(session_id=running.pk, by=self.owner, text="Hello.")
        assert woken is not None
        self.claim_run(woken)

    # What workers do

    @there_are(partial(runs, RunStatus.QUEUED))
    @rule(pick=PICK)
    def claim(self, pick: int) -> None:
        self.claim_run(one_of(runs(RunStatus.QUEUED), pick))

    def claim_run(self, run: Run) -> None:
        turn = claims.claim_run(run_id=run.pk, worker="somebody")
        assert turn is not None
        assert turn.epoch == run.epoch + 1
        self.turns[run.pk] = turn

    @there_are(partial(runs, RunStatus.RUNNING))
    @rule(pick=PICK, outcome=OUTCOMES, keys=QUESTIONS, to=RECIPIENTS)
    def settle(self, pick: int, outcome: Outcome, keys: list[str], to: str) -> None:
        run = one_of(runs(RunStatus.RUNNING), pick)
        turn = self.turns.pop(run.pk)
        drafts = tuple(self.draft(run, key) for key in keys)
        mails = (Mail(to, "Hello."),) if to else ()
        assert settlement.settle_run(turn.fence, Ended(outcome=outcome, asks=drafts, mails=mails))
        if outcome in COMPLETED_OUTCOMES:
            given = InboxItem.objects.filter(leased_by=run)
            self.carried.update(given.values_list("pk", flat=True))
        self.lost.append(turn)

    @there_are(partial(runs, RunStatus.QUEUED, RunStatus.RUNNING))
    @rule(pick=PICK, outcome=OUTCOMES, keys=QUESTIONS, to=RECIPIENTS)
    def take_a_turn(self, pick: int, outcome: Outcome, keys: list[str], to: str) -> None:
        for run in runs(RunStatus.QUEUED):
            self.claim_run(run)
        self.settle(pick, outcome, keys, to)

    def draft(self, run: Run, key: str) -> AskDraft:
        """Return questions: some with a request key of their run, and one with the same key in all runs."""
        if key == "again":
            return draft("again", "Which of these?")
        return draft(f"{run.number}:{key}", action=REFUND if key == "bound" else None)

    @there_are(partial(runs, RunStatus.RUNNING))
    @rule(pick=PICK, given_back=st.booleans())
    def lose_a_claim(self, pick: int, given_back: bool) -> None:
        """The worker shuts down and returns the run, or it dies and another takes the run over."""
        run = one_of(runs(RunStatus.RUNNING), pick)
        turn = self.turns.pop(run.pk)
        self.lost.append(turn)
        if given_back:
            assert claims.return_run(turn.fence)
        else:
            Run.objects.filter(pk=run.pk).update(lease_until=database_now() - PAST)
            self.claim_run(run)

    @precondition(lambda self: self.lost)
    @rule(pick=PICK)
    def a_lost_claim_settles(self, pick: int) -> None:
        turn = self.lost[pick % len(self.lost)]
        assert not settlement.settle_run(
            turn.fence, Ended(outcome=Outcome.WORK_DONE, asks=(draft(),))
        )
        assert not claims.renew_claim(turn.fence)
        assert not claims.return_run(turn.fence)

    # What people do

    @there_are(partial(asks, AskStatus.OPEN))
    @rule(pick=PICK, choice=st.sampled_from(["first", "first", "last", "none", "stale"]))
    def answer(self, pick: int, choice: str) -> None:
        asked = one_of(asks(AskStatus.OPEN), pick)
        keys = list(asked.options.order_by("position").values_list("key", flat=True))
        option = {"first": keys[0], "last": keys[-1], "stale": keys[0]}.get(choice, "")
        echo = echo_of(asked) if hasattr(asked, "gate") else None
        if echo and choice == "stale":
            echo["run_version"] = "0.0"
        result = answer_ask(ask_id=asked.pk, by=self.owner, option=option, echo=echo)
        again = answer_ask(ask_id=asked.pk, by=self.owner, option=option, echo=echo)
        if isinstance(result, Answered):
            assert isinstance(again, Answered)
            assert again.repeated
        else:
            assert isinstance(again, Refused)

    @there_are(partial(asks, AskStatus.OPEN))
    @rule(pick=PICK, by_time=st.booleans())
    def close_without_an_answer(self, pick: int, by_time: bool) -> None:
        asked = one_of(asks(AskStatus.OPEN), pick)
        if by_time:
            Ask.objects.filter(pk=asked.pk).update(expires_at=database_now() - PAST)
            assert expire_due_asks() == 1
        else:
            assert isinstance(withdraw_ask(ask_id=asked.pk, by=self.owner), Ask)
        assert not Verdict.objects.filter(ask=asked).exists()

    @there_are(partial(asks, AskStatus.EXPIRED))
    @rule(pick=PICK)
    def ask_again(self, pick: int) -> None:
        reopen_ask(ask_id=one_of(asks(AskStatus.EXPIRED), pick).pk, by=self.owner)

    @rule(pick=PICK)
    def message(self, pick: int) -> None:
        session = one_of(Session.objects.all(), pick)
        try:
            messages.post_message(session_id=session.pk, by=self.owner, text="Hello.")
        except messages.SessionIsOver:
            assert session.state == SessionState.ENDED

    @rule(pick=PICK, verb=st.sampled_from(["start_session", "resume_session", "stop_session"]))
    def steer_a_session(self, pick: int, verb: str) -> None:
        session = one_of(Session.objects.all(), pick)
        stopped = (
            list(session.runs.filter(status=RunStatus.RUNNING)) if verb == "stop_session" else []
        )
        getattr(controls, verb)(session_id=session.pk, by=self.owner)
        self.lost += [self.turns.pop(run.pk) for run in stopped]

    @rule(pick=PICK, verb=st.sampled_from(["resume_agent", "pause_agent", "retire"]))
    def steer_an_agent(self, pick: int, verb: str) -> None:
        agent = self.agents[pick % 2]
        if verb == "retire" and len(self.lost) > 5 and agent is self.agents[1]:
            ended = runs(RunStatus.RUNNING).filter(session__agent=agent)
            self.lost += [self.turns.pop(run.pk) for run in ended]
            retire_agent(agent_id=agent.pk, by=self.owner)
        elif verb != "retire":
            getattr(controls, verb)(agent_id=agent.pk, by=self.owner)

    # What time does

    @there_are(lambda: Session.objects.filter(wake_at__isnull=False))
    @rule(pick=PICK)
    def time_passes(self, pick: int) -> None:
        session = one_of(Session.objects.filter(wake_at__isnull=False), pick)
        Session.objects.filter(pk=session.pk).update(wake_at=database_now())
        tick.run_tick()

    # What holds

    @invariant()
    def the_promises_hold(self) -> None:
        check_all()
        assert all(times == 1 for times in self.carried.values()), "carried twice"

    def teardown(self) -> None:
        try:
            self.let_everything_end()
        finally:
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    def let_everything_end(self) -> None:
        """Whatever happened: once resumed and run, every session handles all of its inbox items."""
        for agent in self.agents:
            controls.resume_agent(agent_id=agent.pk, by=self.owner)
        for session in Session.objects.exclude(state=SessionState.ENDED):
            controls.start_session(session_id=session.pk, by=self.owner)
        for _ in range(3):
            for run in runs(RunStatus.QUEUED):
                self.claim_run(run)
            for run in runs(RunStatus.RUNNING):
                turn = self.turns.pop(run.pk)
                assert settlement.settle_run(turn.fence, Ended(outcome=Outcome.WORK_DONE))
        check_all()
        owed = InboxItem.objects.exclude(state__in=[InboxState.ACKED, InboxState.DEAD])
        assert not owed.exclude(session__state=SessionState.ENDED).exists()


@pytest.mark.case("C44", "C45", "C54", "X2", "X8", "X9")
@pytest.mark.django_db
def test_anything_in_any_order() -> None:
    run_state_machine_as_test(
        Workspace,
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
