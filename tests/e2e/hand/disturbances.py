"""What happens between the moment a finger goes down and the moment it comes up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from django.db import transaction
from django.utils import timezone
from playwright.sync_api import Page

from agents.locking import lock_session
from asks.answering import answer_ask
from asks.asking_again import ask_again
from asks.claiming import claim_ask
from asks.deadlines.expiry import expire_due_asks
from asks.models import Ask
from asks.withdrawing import withdraw_ask
from tests.e2e.hand.cards import KINDS, Cast, raise_card

SIZES = ((1280, 720), (1000, 640), (390, 844), (1440, 900))


class Scene:
    """The page, its people, the card that is pressed and the asks that were raised."""

    def __init__(self, page: Page, cast: Cast, random: Random) -> None:
        self.page, self.cast, self.random = page, cast, random
        self.kinds: dict[int, str] = {}

    def raise_one(self) -> None:
        """Raise a card of a random kind."""
        kind = self.random.choice(sorted(KINDS))
        for ask in raise_card(kind, self.cast, self.random):
            self.kinds[ask.pk] = kind

    def wait(self) -> None:
        """Give a hint the time to reach the page, sometimes too little."""
        self.page.wait_for_timeout(self.random.choice((0, 40, 120)))


Disturbance = Callable[[Scene, Ask], None]


def nothing(scene: Scene, ask: Ask) -> None:
    """Leave everything as it is."""


def arrive(scene: Scene, ask: Ask) -> None:
    scene.raise_one()


def settle(scene: Scene, ask: Ask) -> None:
    """Have the colleague answer this card."""
    option = ask.options.order_by("-position").first()
    key, text = (option.key, "") if option else ("", "answered elsewhere")
    answer_ask(ask_id=ask.pk, by=scene.cast.colleague, option=key, text=text, echo=_echo(ask))


def settle_above(scene: Scene, ask: Ask) -> None:
    """Have the colleague answer another card."""
    other = Ask.objects.filter(status="open", pk__lt=ask.pk).order_by("?").first()
    if other is not None:
        settle(scene, other)


def withdraw(scene: Scene, ask: Ask) -> None:
    withdraw_ask(ask_id=ask.pk, by=scene.cast.colleague, reason="Not needed.")


def claim(scene: Scene, ask: Ask) -> None:
    claim_ask(ask_id=ask.pk, by=scene.cast.colleague, take_over=True)


def expire(scene: Scene, ask: Ask) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Ask.objects.filter(pk=ask.pk, status="open").update(expires_at=past)
    expire_due_asks()


def supersede(scene: Scene, ask: Ask) -> None:
    """Ask the same again, as the agent does after a change."""
    with transaction.atomic():
        session = lock_session(ask.session_id)
        stale = Ask.objects.select_related("run", "session__agent", "agent").get(pk=ask.pk)
        if stale.status == "open":
            fresh = ask_again(session, stale)
            scene.kinds[fresh.pk] = scene.kinds.get(ask.pk, "question")


def drop_the_socket(scene: Scene, ask: Ask) -> None:
    scene.page.context.set_offline(True)
    scene.page.context.set_offline(False)


def change_the_fonts(scene: Scene, ask: Ask) -> None:
    size = scene.random.choice((15, 16, 18))
    scene.page.evaluate("size => { document.documentElement.style.fontSize = `${size}px` }", size)


def resize(scene: Scene, ask: Ask) -> None:
    width, height = scene.random.choice(SIZES)
    scene.page.set_viewport_size({"width": width, "height": height})


ALL: tuple[Disturbance, ...] = (
    nothing,
    nothing,
    nothing,
    arrive,
    settle,
    settle_above,
    withdraw,
    claim,
    expire,
    supersede,
    drop_the_socket,
    change_the_fonts,
    resize,
)


def _echo(ask: Ask) -> dict[str, str] | None:
    gate = getattr(ask, "gate", None)
    if gate is None:
        return None
    return {
        "action_hash": gate.action_hash,
        "policy_version": str(gate.policy_version),
        "run_version": gate.run_version,
    }
