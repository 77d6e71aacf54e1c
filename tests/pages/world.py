"""A small world for the pages' tests, made by the product's own verbs."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction

from agents import claims, controls, settlement
from agents.events.log import record_event
from agents.lifecycle import AgentState, Outcome
from agents.locking import lock_session
from agents.models import Agent, Run, Session
from agents.registration import open_session
from agents.running.runtime import Ended
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind, Meaning, Style
from asks.models import Ask

EU_OR_US = (OptionDraft("eu", "EU ledger"), OptionDraft("us", "US ledger"))
RELEASE = (
    OptionDraft("go", "Release it", style=Style.PRIMARY),
    OptionDraft("drop", "Drop the table", style=Style.DANGER),
)
APPROVE = (
    OptionDraft("approve", "Approve once", style=Style.PRIMARY, meaning=Meaning.APPROVE),
    OptionDraft("reject", "Reject", meaning=Meaning.DENY),
)
REFUND = ActionDraft("stripe.refunds.create", {"charge": "ch_1", "amount": "48.00 EUR"})


def person(name: str) -> User:
    return User.objects.create_user(name, password="horse battery staple")


def agent_of(
    *owners: User, slug: str = "ledger-close", state: AgentState = AgentState.ACTIVE
) -> Agent:
    """An agent that only starts when somebody says so, with its home session."""
    agent = Agent.objects.create(
        slug=slug,
        name=slug.replace("-", " ").capitalize(),
        runtime="markers",
        settings={"command": ["echo", "hi"], "cwd": None},
        wake_policy={"kind": "manual"},
        lifecycle=state,
    )
    agent.owners.set(owners)
    open_session(agent, is_home=True)
    return agent


def home(agent: Agent) -> Session:
    return Session.objects.select_related("agent").get(agent=agent, is_home=True)


def turn(
    agent: Agent, *drafts: AskDraft, outcome: Outcome = Outcome.BLOCKED, report: str = ""
) -> Run:
    """One whole turn of an agent, as a worker would carry it."""
    owner = agent.owners.first()
    assert owner is not None
    run = controls.start_session(session_id=home(agent).pk, by=owner)
    assert run is not None
    claimed = claims.claim_run(run_id=run.pk, worker="test")
    assert claimed is not None
    assert settlement.settle_run(claimed.fence, Ended(outcome=outcome, asks=drafts, report=report))
    run.refresh_from_db()
    return run


def question(
    key: str = "k1",
    prompt: str = "Which ledger should October close against?",
    options: tuple[OptionDraft, ...] = EU_OR_US,
    *,
    free_text: bool = False,
) -> AskDraft:
    return AskDraft(request_key=key, prompt=prompt, options=options, free_text=free_text)


def approval(key: str = "a1", action: ActionDraft = REFUND) -> AskDraft:
    return AskDraft(
        request_key=key,
        prompt="Refund 48.00 EUR to Nordlicht GmbH?",
        kind=AskKind.APPROVAL,
        options=APPROVE,
        action=action,
        free_text=True,
    )


def asked(agent: Agent, *drafts: AskDraft) -> Ask:
    """The (first) open ask of an agent that has just asked this."""
    turn(agent, *(drafts or (question(),)))
    ask = Ask.objects.filter(agent=agent, status="open").order_by("pk").first()
    assert ask is not None
    return ask


def echo_of(ask: Ask) -> dict[str, str]:
    """The hidden fields of a bound ask's form."""
    gate = ask.gate
    return {
        "action_hash": gate.action_hash,
        "policy_version": str(gate.policy_version),
        "run_version": gate.run_version,
    }


def minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


def notice(agent: Agent, text: str) -> None:
    """Something an agent says in passing."""
    with transaction.atomic():
        record_event(lock_session(home(agent).pk), "notice", actor=f"agent:{agent.slug}", text=text)
