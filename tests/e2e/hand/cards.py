"""One card of every kind, raised by the product's own verbs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random

from django.contrib.auth.models import User

from agents.models import Agent
from asks.claiming import claim_ask
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import AskKind
from asks.models import Ask
from tests.pages import world
from tests.policies.world import in_force, refund

MARK = "; rm -rf build; "
PARAMS: dict[str, object] = {"charge": "ch_1", "amount": 48, "to": {"name": "Ada Lovelace"}}
FOLDED: dict[str, object] = {
    "charge": "ch_1",
    "amount": 48,
    "script": "echo step; " * 70 + MARK + "ls; " * 40,
}
TALL: dict[str, object] = {
    "charge": "ch_1",
    "amount": 48,
    **{f"line_{n:02}": f"echo {n}" for n in range(60)},
}
MUST_BE_SEEN = {"folded": ("rm -rf build",), "tall": ("echo 30", "echo 59")}
"""Words of a bound action that were on the screen before an approval of it may count."""
_numbers = count(1)


class Cast:
    """The owner who presses, and the colleague who acts elsewhere."""

    def __init__(self, owner: User, colleague: User) -> None:
        self.owner, self.colleague = owner, colleague

    def agent(self, slug: str = "agent") -> Agent:
        return world.agent_of(self.owner, self.colleague, slug=f"{slug}-{next(_numbers)}")


def _plain(random: Random) -> list[AskDraft]:
    labels = [OptionDraft(f"o{n}", f"Answer {n}") for n in range(random.randint(2, 12))]
    return [world.question(options=tuple(labels), free_text=random.random() < 0.3)]


def _in_words(random: Random) -> list[AskDraft]:
    return [world.question(options=())]


def _long(random: Random) -> list[AskDraft]:
    return [world.question(prompt="\n\n".join(f"Plan {n}: move what is old." for n in range(60)))]


def _destructive(random: Random) -> list[AskDraft]:
    return [world.question(options=world.RELEASE)]


def _several(random: Random) -> list[AskDraft]:
    return [world.question(key=f"k{n}", prompt=f"Question {n}?") for n in range(3)]


def _bound(params: dict[str, object]) -> Callable[[Random], list[AskDraft]]:
    def drafts(random: Random) -> list[AskDraft]:
        return [
            AskDraft(
                request_key="a1",
                prompt="Refund 48.00 EUR to Nordlicht GmbH?",
                kind=AskKind.APPROVAL,
                options=world.APPROVE,
                action=ActionDraft("refund", params),
                free_text=True,
            )
        ]

    return drafts


KINDS: dict[str, tuple[Callable[[Random], list[AskDraft]], dict[str, object]]] = {
    "question": (_plain, {}),
    "words": (_in_words, {}),
    "long": (_long, {}),
    "destructive": (_destructive, {}),
    "several": (_several, {}),
    "approval": (_bound(PARAMS), {}),
    "folded": (_bound(FOLDED), {}),
    "tall": (_bound(TALL), {}),
    "edit": (_bound(PARAMS), {"may_edit": True}),
    "quorum": (_bound(PARAMS), {"quorum": 2}),
    "four eyes": (_bound(PARAMS), {"four_eyes": "required"}),
    "gated": (_bound(PARAMS), {"money_critical": True}),
    "claimed": (_plain, {}),
}


def raise_card(kind: str, cast: Cast, random: Random) -> list[Ask]:
    """Raise the ask or asks of a card of this kind; return them in order."""
    drafts, rule = KINDS[kind]
    agent = cast.agent(kind.replace(" ", "-"))
    if rule:
        in_force(agent, refund(**rule), by=cast.owner)
    world.turn(agent, *drafts(random))
    asks = list(Ask.objects.filter(agent=agent, status="open").order_by("pk"))
    if kind == "claimed":
        claim_ask(ask_id=asks[0].pk, by=cast.colleague)
    return asks
