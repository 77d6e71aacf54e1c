"""For each reason to refuse, a situation in which owner and colleague alike are refused for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from agents import messages
from agents.db.expressions import database_now
from agents.models import Agent, Session
from asks import claiming, withdrawing
from asks.actions import binding
from asks.answering import Voted, answer_ask, answer_signed
from asks.answers import MAX_TEXT
from asks.lifecycle import Reason
from asks.models import Ask
from asks.signed_channel.proof import Proof
from tests.policies.world import Rules, group_of, in_force


@dataclass(frozen=True)
class Sent:
    """What is handed in at a door. ``echo``: the binding as shown, or none; ``forged`` is a signature."""

    option: str = "approve"
    text: str = ""
    echo: bool = True
    edited: Any = None
    ask_id: int | None = None
    forged: bool = False

    def binding_of(self, ask: Ask) -> dict[str, Any]:
        gate = binding.gate_of(ask)
        return binding.shown_binding(gate).as_echo() if gate and self.echo else {}


@dataclass
class Scene:
    """The people, and the agent's session in which it is asked. ``third`` owns the agent too."""

    agent: Agent
    session: Session
    owner: User
    colleague: User
    third: User
    stranger: User


#: Terms that hold for questions without an action too.
OF_QUESTIONS = ("answered_by", "four_eyes", "reauthenticate_within", "reason_for")
Deed = Callable[[Scene, Ask], object]


def _nothing(scene: Scene, ask: Ask) -> None:
    """The world stays as it is."""


@dataclass(frozen=True)
class Situation:
    """What the policy says, what happens before it is asked and after, and what is handed in then."""

    terms: Rules = field(default_factory=dict)
    before: Callable[[Scene], object] = lambda scene: None
    after: Deed = _nothing
    sent: Sent = field(default_factory=Sent)

    def prepare(self, scene: Scene, operation: str) -> None:
        group_of("board", scene.third)
        around = {name: value for name, value in self.terms.items() if name in OF_QUESTIONS}
        rule = {"operation": operation, **self.terms}
        in_force(scene.agent, rule, by=scene.third, **around)
        self.before(scene)


def _started_for_both(scene: Scene) -> None:
    for person in (scene.owner, scene.colleague):
        messages.post_message(session_id=scene.session.pk, by=person, text="Refund it.")


def _is_taken_back(scene: Scene, ask: Ask) -> None:
    withdrawing.withdraw_ask(ask_id=ask.pk, by=scene.third, reason="No need")


def _runs_out(_: Scene, ask: Ask) -> None:
    Ask.objects.filter(pk=ask.pk).update(expires_at=database_now())


def _changes(scene: Scene, ask: Ask) -> None:
    in_force(scene.agent, {"operation": "*"}, by=scene.third)
    del ask


def _is_claimed(scene: Scene, ask: Ask) -> None:
    assert isinstance(claiming.claim_ask(ask_id=ask.pk, by=scene.third), Ask)


def _both_vote(scene: Scene, ask: Ask) -> None:
    given: dict[str, Any] = {"ask_id": ask.pk, "option": "approve", "echo": Sent().binding_of(ask)}
    for person in (scene.owner, scene.colleague):
        proof = Proof(person.username, "needs-you-verdict", "", "", "")
        signed = ask.money_critical
        voted = answer_signed(by=person, proof=proof, **given) if signed else None
        voted = voted or answer_ask(by=person, **given)
        assert isinstance(voted, Voted), "it takes a third"


DENY = Sent(option="deny")
SITUATIONS: dict[Reason, Situation] = {
    Reason.NOT_FOUND: Situation(sent=Sent(ask_id=10**9)),
    Reason.NOT_ALLOWED: Situation({"answered_by": "group:board"}),
    Reason.FOUR_EYES: Situation({"four_eyes": "required"}, before=_started_for_both),
    Reason.CLOSED: Situation(after=_is_taken_back),
    Reason.EXPIRED: Situation(after=_runs_out),
    Reason.GATED: Situation({"money_critical": True}),
    Reason.UNBINDABLE: Situation(sent=Sent(echo=False)),
    Reason.UNPROVEN: Situation(sent=Sent(forged=True)),
    Reason.STALE: Situation(after=_changes),
    Reason.CLAIMED: Situation(after=_is_claimed),
    Reason.REAUTHENTICATE: Situation({"reauthenticate_within": 5}),
    Reason.VOTED: Situation({"quorum": 3}, after=_both_vote, sent=DENY),
    Reason.INVALID: Situation(sent=Sent(text="x" * (MAX_TEXT + 1))),
    Reason.EMPTY: Situation(sent=Sent(option="", text=" \u200b")),
    Reason.UNKNOWN_OPTION: Situation(sent=Sent(option="maybe")),
    Reason.NOT_EDITABLE: Situation(sent=Sent(edited={"charge": "ch_1", "amount": 1})),
    Reason.BAD_EDIT: Situation(
        {"may_edit": True}, sent=Sent(edited={"charge": "ch_1", "amount": "lots"})
    ),
    Reason.REASON_REQUIRED: Situation({"reason_for": ["deny"]}, sent=DENY),
}
