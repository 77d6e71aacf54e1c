"""People, agents, sessions, runs, asks and verdicts for tests: made by the product's own verbs.

So whatever a test starts from is a state that the product really reaches.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

from django.contrib.auth.models import User
from factory.base import Factory
from factory.declarations import Sequence as Numbered
from factory.django import DjangoModelFactory
from pydantic import BaseModel

from agents import claims, controls, settlement
from agents.lifecycle import AgentState, Outcome, RunStatus
from agents.models import Agent, Run, Session
from agents.registration import open_session, register_agent
from agents.running import runtime
from agents.running.runtime import Ended, Turn, TurnEvent
from asks.actions.binding import shown_binding
from asks.answering import Answered, answer_ask
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask, Verdict

EU_OR_US = (OptionDraft("eu", "EU ledger"), OptionDraft("us", "US ledger"))
APPROVE_OR_DENY = (
    OptionDraft("approve", "Approve once", style=Style.PRIMARY, meaning=Meaning.APPROVE),
    OptionDraft("deny", "Reject", style=Style.DANGER, meaning=Meaning.DENY),
)
REFUND = ActionDraft("refund", {"charge": "ch_1", "amount": 48})
MONEY = ActionDraft("pay", {"to": "ACME", "amount": 48}, money_critical=True)


class NoSettings(BaseModel):
    """A runtime without settings."""


class Idle:
    """A runtime for tests in which they themselves end the turns."""

    key = "idle"
    settings_model: type[BaseModel] = NoSettings

    async def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]:
        del turn
        yield Ended(outcome=Outcome.NO_WORK)


runtime.register_runtime(Idle())


class _Users(DjangoModelFactory[User]):
    """A person who can sign in with nothing but ``force_login``."""

    class Meta:
        model = User

    username = Numbered("person{}".format)  # type: ignore[no-untyped-call]


class _Agents(Factory[Agent]):
    """An active agent that starts when told, with its home session. ``owners`` are people."""

    class Meta:
        model = Agent

    slug = Numbered("agent-{}".format)  # type: ignore[no-untyped-call]
    lifecycle = AgentState.ACTIVE
    wake: dict[str, Any] | None = None

    @classmethod
    def _create(cls, model_class: type[Agent], *args: Any, **kwargs: Any) -> Agent:
        del model_class, args
        owners = kwargs.pop("owners", None) or [UserFactory()]
        return register_agent(owners=owners, runtime_key="idle", settings={}, **kwargs)


class _Sessions(Factory[Session]):
    """A session of an agent; its home session if ``home`` is true."""

    class Meta:
        model = Session

    @classmethod
    def _create(cls, model_class: type[Session], *args: Any, **kwargs: Any) -> Session:
        del model_class, args
        agent = kwargs.pop("agent", None) or AgentFactory()
        return home_of(agent) if kwargs.pop("home", False) else open_session(agent, **kwargs)


class _Runs(Factory[Run]):
    """A run that has come to ``status`` the way runs do."""

    class Meta:
        model = Run

    @classmethod
    def _create(cls, model_class: type[Run], *args: Any, **kwargs: Any) -> Run:
        del model_class, args
        session = kwargs.pop("session", None) or SessionFactory()
        return _run_that_is(RunStatus(kwargs.pop("status", RunStatus.QUEUED)), session)


class _Asks(Factory[Ask]):
    """An open ask that a run has raised and waits for; keywords are a draft's."""

    class Meta:
        model = Ask

    @classmethod
    def _create(cls, model_class: type[Ask], *args: Any, **kwargs: Any) -> Ask:
        del model_class, args
        session = kwargs.pop("session", None) or SessionFactory()
        return ask(session, draft(**kwargs))[0]


class _Verdicts(Factory[Verdict]):
    """The verdict on an ask, by one of its owners."""

    class Meta:
        model = Verdict

    @classmethod
    def _create(cls, model_class: type[Verdict], *args: Any, **kwargs: Any) -> Verdict:
        del model_class, args
        asked = kwargs.pop("ask", None) or AskFactory()
        by = kwargs.pop("by", None) or owner_of(asked.session)
        return verdict_on(asked, by, **kwargs)


# A factory is called like a function that makes one; its own types do not say so.
UserFactory = cast("Callable[..., User]", _Users)
AgentFactory = cast("Callable[..., Agent]", _Agents)
SessionFactory = cast("Callable[..., Session]", _Sessions)
RunFactory = cast("Callable[..., Run]", _Runs)
AskFactory = cast("Callable[..., Ask]", _Asks)
VerdictFactory = cast("Callable[..., Verdict]", _Verdicts)


def draft(
    key: str = "",
    prompt: str = "Which ledger does October close against?",
    options: Sequence[OptionDraft] = EU_OR_US,
    **more: Any,
) -> AskDraft:
    """A question with two options; with an ``action``, an approval of it."""
    if more.get("action"):
        options = APPROVE_OR_DENY if options is EU_OR_US else options
        more.setdefault("kind", AskKind.APPROVAL)
    key = key or f"key-{next(_keys)}"
    return AskDraft(request_key=key, prompt=prompt, options=tuple(options), **more)


def home_of(agent: Agent) -> Session:
    return Session.objects.get(agent=agent, is_home=True)


def owner_of(session: Session) -> User:
    owner = session.agent.owners.order_by("pk").first()
    assert owner is not None
    return owner


def begin(session: Session, *, worker: str = "worker") -> Turn:
    """Start a session as its owner would, and claim the run as a worker would."""
    run = controls.start_session(session_id=session.pk, by=owner_of(session))
    assert run is not None
    return claim(run, worker=worker)


def claim(run: Run, *, worker: str = "worker") -> Turn:
    """Claim a run that is there to be claimed."""
    turn = claims.claim_run(run_id=run.pk, worker=worker)
    assert turn is not None
    return turn


def finish(turn: Turn, outcome: Outcome = Outcome.WORK_DONE, **ended: Any) -> Run:
    """End a claimed run with an outcome and whatever else an ``Ended`` says."""
    assert settlement.settle_run(turn.fence, Ended(outcome=outcome, **ended))
    return Run.objects.get(pk=turn.run_id)


def turn_of(session: Session, outcome: Outcome = Outcome.WORK_DONE, **ended: Any) -> Run:
    """One whole turn of a session."""
    return finish(begin(session), outcome, **ended)


def ask(session: Session, *drafts: AskDraft) -> list[Ask]:
    """Have a session's next run ask something and wait; the asks, in their order."""
    run = turn_of(session, Outcome.BLOCKED, asks=drafts or (draft(),))
    return list(Ask.objects.filter(run=run).select_related("session__agent").order_by("pk"))


def ask_something(agent: Agent, **more: Any) -> Ask:
    """An open ask of an agent, in a session of its own. Keywords are a draft's."""
    return ask(open_session(agent), draft(**more))[0]


def echo_of(asked: Ask) -> dict[str, Any]:
    """What a page shows of a bound ask and sends back with its answer."""
    return shown_binding(Ask.objects.get(pk=asked.pk).gate).as_echo()


def verdict_on(asked: Ask, by: User, **answered: Any) -> Verdict:
    """Answer an ask; with its first option if nothing is said."""
    first = asked.options.order_by("position").first()
    if not answered:
        answered = {"option": first.key} if first else {"text": "Go on."}
    if hasattr(asked, "gate"):
        answered.setdefault("echo", echo_of(asked))
    result = answer_ask(ask_id=asked.pk, by=by, **answered)
    assert isinstance(result, Answered), result
    return result.verdict


def _run_that_is(status: RunStatus, session: Session) -> Run:
    if status == RunStatus.QUEUED:
        queued = controls.start_session(session_id=session.pk, by=owner_of(session))
        assert queued is not None
        return queued
    if status in (RunStatus.WAITING_HUMAN, RunStatus.CONTINUED):
        asked = ask(session)[0]
        if status == RunStatus.CONTINUED:
            verdict_on(asked, owner_of(session))
        return Run.objects.get(pk=asked.run_id)
    turn = begin(session)
    if status == RunStatus.CANCELLED:
        assert controls.stop_session(session_id=session.pk, by=owner_of(session))
    elif status == RunStatus.FAILED:
        finish(turn, Outcome.RETRYABLE_ERROR, error="It broke.")
    elif status == RunStatus.COMPLETED:
        finish(turn)
    return Run.objects.get(pk=turn.run_id)


_keys = iter(range(1, 10**9))
