"""Ask a person about effects that began and have no recorded end."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from agents import transitions
from agents.db.expressions import ClockNow
from agents.lifecycle import RunStatus, SessionState
from agents.locking import lock_first_session
from agents.models import Run, Session
from agents.text import key_order
from agents.text.canonical_json import Json
from asks import raising
from asks.actions import binding, grant_ends
from asks.drafts import AskDraft, OptionDraft
from asks.models import Effect, EffectEnd, Grant, Redemption

BATCH = 100
#: How long an effect that belongs to no run may take before a person is asked about it.
PATIENCE = timedelta(hours=1)


def ask_about_interrupted() -> int:
    """Ask about every effect whose run ended before reporting its end. Return how many.

    Safe to call from several processes at once.
    """
    pairs = _without_end().order_by("pk").values_list("grant__session_id", "pk")[:BATCH]
    return sum(_ask_about(*pair) for pair in pairs)


def ask_about_session(session_id: int) -> int:
    """Ask about the interrupted effects of one session, and wait for its lock. Return how many.

    The turn continues from the answers, so none may be skipped because the session is busy.
    """
    of_session = _without_end().filter(grant__session=session_id).order_by("pk")
    redemption_ids = of_session.values_list("pk", flat=True)
    return sum(_ask_about(session_id, pk, wait=True) for pk in redemption_ids)


def _without_end() -> QuerySet[Redemption]:
    """Return redemptions without a recorded end whose claim no longer holds."""
    under_way = Q(run__status=RunStatus.RUNNING, run__epoch=F("epoch"))
    recent = Q(run=None, redeemed_at__gt=ClockNow() - PATIENCE)
    lost = Redemption.objects.filter(effect=None).exclude(under_way).exclude(recent)
    return lost.exclude(grant__session__state=SessionState.ENDED)


@transaction.atomic
def _ask_about(session_id: int, redemption_id: int, *, wait: bool = False) -> bool:
    session = lock_first_session(Session.objects.filter(pk=session_id), if_free=not wait)
    if session is None:
        return False
    redemption = _without_end().filter(pk=redemption_id).select_related("grant").first()
    if redemption is None:
        return False
    run = Run.objects.filter(session=session).order_by("-number").first()
    if run is None:
        return False
    asked = raising.create_ask(session, run, _draft(redemption))
    Effect.objects.create(redemption=redemption, end=EffectEnd.UNKNOWN, asked=asked)
    grant_ends.mark_used(session, redemption.grant)
    transitions.store_status(session, transitions.live_run(session))
    return True


def _options() -> tuple[OptionDraft, ...]:
    return (
        OptionDraft("happened", _("It happened")),
        OptionDraft(
            "did-not-happen", _("It did not happen"), _("Nothing is repeated if you choose this.")
        ),
    )


def _draft(redemption: Redemption) -> AskDraft:
    """Return the question for the owner. Text from the agent appears only as data."""
    grant = redemption.grant
    return AskDraft(
        request_key=f"effect:{redemption.pk}",
        prompt=_(
            "An approved action was started, but its run ended before it reported the result. "
            "**It may or may not have happened.** It will not be repeated automatically. "
            "Please check, and report what you found."
        ),
        options=_options(),
        free_text=True,
        context={"operation": grant.operation, "params": _params(grant)},
    )


def _params(grant: Grant) -> Json:
    """Return the params of a grant, in the order of the call that was approved."""
    gate = binding.gate_of(grant.ask) if grant.ask else None
    return key_order.in_order(grant.params, gate.params_order) if gate else grant.params
