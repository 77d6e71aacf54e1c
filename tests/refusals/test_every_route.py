"""Every reason to refuse, on every way in, as owner, colleague, stranger and with the agent's own key.

Each attempt is refused with its status and its sentence, leaves one refusal and one record in the
ledger, and leaves the ask as it was. Which pairs of reason and route there are none of, and why,
stands in ``NEVER``: what is in neither is a hole.
"""

from __future__ import annotations

from html import unescape
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User

from asks.lifecycle import HTTP_STATUS, AskStatus, Reason
from asks.models import Ask, Grant, LedgerRecord, Refusal, Verdict, Vote
from tests.refusals.routes import Route, Said
from tests.refusals.situations import SITUATIONS, Scene

pytestmark = pytest.mark.django_db
NAMES = ("page", "api", "admin", "signed", "responses", "leaf")
NO_SUCH = "nothing of the kind can be handed in there"
NEVER: dict[tuple[str, Reason], str] = {
    **{
        (name, Reason.UNPROVEN): "only a signature is unproven"
        for name in ("page", "api", "responses", "leaf")
    },
    **{(name, Reason.NOT_EDITABLE): NO_SUCH for name in ("signed", "responses", "leaf")},
    **{(name, Reason.BAD_EDIT): NO_SUCH for name in ("signed", "responses", "leaf")},
    ("signed", Reason.GATED): "it is the channel for what is gated",
    ("signed", Reason.UNBINDABLE): "a document without its binding is another one: stale",
    ("signed", Reason.REAUTHENTICATE): "a signature is the proof",
    ("signed", Reason.INVALID): "it carries no words",
    ("signed", Reason.EMPTY): "no option is no known option there",
    ("signed", Reason.REASON_REQUIRED): "it carries no words, and signing is deliberate",
    ("responses", Reason.NOT_FOUND): "an unknown call is no answer: it is the next message",
    ("responses", Reason.GATED): "its questions release no action",
    ("responses", Reason.UNBINDABLE): "its questions are not bound",
    ("responses", Reason.STALE): "its questions are not bound",
    ("responses", Reason.VOTED): "several vote on actions only",
    ("responses", Reason.INVALID): "where options are offered, other words are an unknown one",
    ("responses", Reason.REASON_REQUIRED): "its options neither deny nor destroy",
    ("leaf", Reason.UNBINDABLE): "a gate's number is its binding there",
    ("leaf", Reason.EMPTY): "no action is no decision: it is said, and nothing is recorded",
    ("leaf", Reason.UNKNOWN_OPTION): "an unknown action is no decision, likewise",
    ("leaf", Reason.INVALID): "what is too long is no decision, likewise",
}
PAIRS = [pair for pair in product(NAMES, Reason) if pair not in NEVER]
#: Routes on which whoever does not own the agent does not get as far as its asks.
CLOSED_TO_STRANGERS = ("responses", "leaf")


def test_nothing_is_left_out() -> None:
    assert set(SITUATIONS) == set(Reason)
    assert len(PAIRS) + len(NEVER) == len(NAMES) * len(Reason)


@pytest.mark.case("C73", "C74", "C75", "C79", "C71", "C26", "C51")
@pytest.mark.parametrize(("route_name", "reason"), PAIRS)
def test_refused(route_name: str, reason: Reason, route: Route, scene: Scene) -> None:
    situation = SITUATIONS[reason]
    situation.prepare(scene, route.operation)
    ask = None
    for who in _cast(route_name, reason):
        by = getattr(scene, who) if who else None
        ask = _asked(scene, route, reason, ask)
        before, seen = _as_it_is(ask), Refusal.objects.count()
        said = route.hand_in(scene, ask, situation.sent, by)
        _assert_refused(route_name, reason, ask, by, who, said, Refusal.objects.count() - seen)
        _assert_unchanged(ask, before, reason if by not in (None, scene.stranger) else None)


def _cast(route_name: str, reason: Reason) -> tuple[str | None, ...]:
    """A run over a protocol was started for one person, whose key it was; leaf asks anew by itself."""
    alone = route_name in CLOSED_TO_STRANGERS and reason in (Reason.FOUR_EYES, Reason.STALE)
    return ("owner", *(() if alone else ("colleague",)), "stranger", None)


def _asked(scene: Scene, route: Route, reason: Reason, before: Ask | None) -> Ask:
    """One ask serves all of them, as nobody changes it; a stale answer closes it."""
    if before is not None and reason is not Reason.STALE:
        return before
    if before is not None and route.operation == "leaf.proceed":
        return Ask.objects.filter(agent=scene.agent).latest("pk")
    ask = route.ask(scene)
    SITUATIONS[reason].after(scene, ask)
    return Ask.objects.get(pk=ask.pk)


def _as_it_is(ask: Ask) -> dict[str, Any]:
    return {
        "ask": Ask.objects.filter(pk=ask.pk).values().get(),
        "votes": list(Vote.objects.order_by("pk").values_list("pk", flat=True)),
        "verdicts": Verdict.objects.count(),
        "grants": Grant.objects.count(),
    }


def _assert_unchanged(ask: Ask, before: dict[str, Any], reason: Reason | None) -> None:
    now = _as_it_is(ask)
    if reason is Reason.STALE and now["ask"]["status"] == AskStatus.SUPERSEDED:
        assert Ask.objects.get(pk=now["ask"]["superseded_by_id"]).status == AskStatus.OPEN
        now["ask"] = before["ask"]
    assert now == before
    assert (now["verdicts"], now["grants"]) == (0, 0)


def _assert_refused(
    route_name: str,
    reason: Reason,
    ask: Ask,
    by: User | None,
    who: str | None,
    said: Said,
    new: int,
) -> None:
    expected = _expected(route_name, reason, who)
    assert said.status in _statuses(route_name, expected, who), (who, said)
    if expected is None:
        assert new == 0
        return
    assert new == 1, (who, said)
    refusal = Refusal.objects.latest("pk")
    named = None if expected is Reason.UNPROVEN else by
    assert (refusal.reason, refusal.by) == (expected, named), (who, said)
    assert refusal.via == ("api" if by is None and route_name != "signed" else route_name)
    assert LedgerRecord.objects.filter(subject=f"refusal:{refusal.pk}").count() == 1
    if expected is not Reason.NOT_FOUND and by is not None:
        assert refusal.ask == ask
        assert refusal.detail in unescape(said.words), said


def _expected(route_name: str, reason: Reason, who: str | None) -> Reason | None:
    """The reason that is recorded; None where an attempt does not get as far as an ask."""
    if route_name == "admin" or (who is None and route_name in {"page", "responses"}):
        return None  # a response is its callers', and an agent has no sign-in
    if who is None:
        return Reason.UNPROVEN if route_name == "signed" else Reason.NOT_ALLOWED
    if route_name == "signed" and reason is Reason.UNPROVEN:
        return reason
    if who == "stranger":
        return None if route_name in CLOSED_TO_STRANGERS else Reason.NOT_FOUND
    return reason


def _statuses(route_name: str, reason: Reason | None, who: str | None) -> set[int]:
    if route_name == "admin":
        return {403} if who else {302, 401, 403}
    if route_name == "signed":
        return {0}
    if reason is None:
        return {400, 401, 403, 404}
    if who is None or route_name in {"api", "page"}:
        return {HTTP_STATUS[reason]}
    if route_name == "leaf":
        return {200, 202}
    status = HTTP_STATUS[reason]
    return {{404: 403, 410: 409}.get(status, status if status in (403, 409) else 400)}
