"""Raise the asks of a run, once per request, in the transaction that settles the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import JSONField, Value
from django.utils.translation import gettext as _

from agents import actors, wakes
from agents.db import statements
from agents.db.statements import Prepared
from agents.events.log import record_event
from agents.lifecycle import Cause
from agents.locking import LockedSession
from agents.models import Run, Session
from agents.text import html, key_order
from agents.text.storable import make_storable
from asks import closing, verdict_delivery
from asks.actions import auto_approval, binding, grant_ends, schema
from asks.actions.binding import BoundAction
from asks.drafts import ActionDraft, AskDraft, request_keys, validation
from asks.drafts.validation import BadDraft
from asks.lifecycle import CONFIDENTIAL, AskStatus
from asks.models import Ask, Gate, GrantEnd, Option
from asks.policies import terms, versions
from asks.policies.terms import AppliedTerms
from asks.policies.versions import Ruling
from asks.queue import earlier_answers, hints, same_words
from asks.undo import holding

__all__ = ["BadDraft", "create_ask", "raise_ask", "raise_asks", "successor_of"]


def raise_asks(session: LockedSession, run: Run, drafts: Sequence[object]) -> None:
    """Raise each draft. Record an event in the thread for each one that cannot be asked."""
    for draft in drafts:
        if not isinstance(draft, AskDraft):
            raise TypeError(f"{type(draft).__name__} is not an AskDraft.")
        try:
            raise_ask(session, run, draft)
        except BadDraft as error:
            record_event(
                session,
                "ignored",
                actor="system",
                run=run,
                text=str(draft.prompt)[:2000],
                data={"why": str(error)},
            )


@dataclass(frozen=True)
class BoundDraft:
    """The policy's ruling on a draft, and the draft's action, bound once."""

    ruling: Ruling
    action: BoundAction | None


def bind_draft(session: LockedSession, draft: AskDraft) -> BoundDraft:
    """Ask the policy about a draft, and bind its action if it has one."""
    ruling = versions.ruling_for(session, draft)
    if draft.action is None:
        return BoundDraft(ruling, None)
    return BoundDraft(ruling, binding.bind_action(session.agent, draft.action, ruling))


def raise_ask(session: LockedSession, run: Run, draft: AskDraft) -> Ask | None:
    """Raise one ask and return the present ask of the request. Raise BadDraft.

    Return None if the policy allows the action without a person, or if the agent asks the same too
    often (``asks.queue.same_words``). An open request with the same words
    and action is not raised twice; one that differs is replaced. A question that was answered in the
    same words is delivered its answer once more, unless this very run already had it; then, and for
    every action, a person is asked again. An answer that can still be taken back is delivered when its
    window ends. Call ``store_status`` afterwards.
    """
    validation.check_draft(draft)
    bound = bind_draft(session, draft)
    before = _asked_before(session, run, draft.request_key)
    waits = before is not None and before.status == AskStatus.OPEN
    if not bound.ruling.asks and not waits and _allow(session, run, draft, bound):
        return None
    if before is None:
        return _raise_first(session, run, draft, bound)
    same = _is_the_same(session, before, draft, bound.action)
    if before.status == AskStatus.OPEN and same:
        return before
    answered = before.status == AskStatus.ANSWERED and same and draft.action is None
    if answered and holding.held_until(before) is not None:
        return before
    if answered and not verdict_delivery.was_given(run, before):
        _deliver_again(session, run, before)
        return before
    fresh = create_ask(session, run, draft, repeats=before, bound=bound)
    if before.status == AskStatus.OPEN:
        closing.supersede_ask(session, before, fresh, why=_("The agent asked it differently."))
    return fresh


def _raise_first(
    session: LockedSession, run: Run, draft: AskDraft, bound: BoundDraft
) -> Ask | None:
    """Raise an ask whose key is new. Return None if the agent is stopped instead."""
    if draft.by_words and draft.action is None:
        if (joined := same_words.join_open(session, run, draft)) is not None:
            return joined
        if same_words.brake(session, run, draft):
            return None
    return create_ask(session, run, draft, bound=bound)


def _allow(session: LockedSession, run: Run, draft: AskDraft, bound: BoundDraft) -> bool:
    return auto_approval.allow_action(session, run, draft, bound.action, bound.ruling)


def create_ask(
    session: LockedSession,
    run: Run,
    draft: AskDraft,
    *,
    repeats: Ask | None = None,
    opened_at: datetime | None = None,
    expires_at: datetime | None = None,
    imported: bool = False,
    bound: BoundDraft | None = None,
) -> Ask:
    """Insert one open ask with its options, gate and nudges, count it, and record it as an event.

    ``repeats`` is the ask that this one asks again. Raise BadDraft.
    """
    bound = bound or bind_draft(session, draft)
    applied = terms.apply_terms(session, run, draft, bound.ruling, expires_at)
    prompt = make_storable(draft.prompt).strip()
    ask = statements.insert(
        Ask(
            session=session,
            run=run,
            agent=session.agent,
            request_key=_next_key(session, draft.request_key) if repeats else draft.request_key,
            repeats=repeats,
            kind=draft.kind,
            prompt=prompt,
            prompt_html=html.render_html(prompt),
            free_text=draft.free_text or not draft.options,
            money_critical=_is_money_critical(draft, bound.ruling),
            context=make_storable(draft.context),
            context_order=key_order.order_of(make_storable(draft.context)),
            likeness=earlier_answers.likeness_of(draft, prompt),
            imported=imported,
            opened_at=opened_at or session.locked_at,
            expires_at=applied.expires_at,
            **applied.columns(),
        )
    )
    _offer(ask, draft)
    _nudge_later(ask, applied)
    if draft.action is not None and bound.action is not None:
        _bind(session, run, ask, bound.action, draft.action, bound.ruling)
        _end_grants_of_the_same(session, ask, bound.action)
    session.open_asks += 1
    run.open_asks += 1
    statements.update(run, ["open_asks"])
    _record_asked(session, run, ask, draft)
    return ask


def _end_grants_of_the_same(session: LockedSession, ask: Ask, action: BoundAction) -> None:
    """End the live grants of the request that is asked again, and of the very same action."""
    same = [
        grant
        for grant in grant_ends.live_grants_of(session)
        if grant.action_hash == action.digest or (ask.repeats_id and grant.ask_id == ask.repeats_id)
    ]
    grant_ends.lapse_grants(session, same, GrantEnd.ASKED_AGAIN)


def _is_money_critical(draft: AskDraft, ruling: Ruling) -> bool:
    return draft.action is not None and (draft.action.money_critical or ruling.money_critical)


def _nudge_later(ask: Ask, settled: AppliedTerms) -> None:
    for nudge in settled.nudges:
        nudge.ask = ask
    if settled.nudges:
        statements.insert(*settled.nudges)


def _next_key(session: Session, request_key: str) -> str:
    repeats = f"{request_keys.root_of(request_key)}~"
    asked = Ask.objects.filter(session=session, request_key__startswith=repeats)
    return request_keys.next_key(request_key, set(asked.values_list("request_key", flat=True)))


def _asked_before(session: Session, run: Run, request_key: str) -> Ask | None:
    """Return the latest ask of a request, with ``run`` attached if the ask belongs to it."""
    ask = _NAMED.first(session.pk, request_key)
    while (later := successor_of(ask)) is not None:
        ask = _ASK.first(later.pk)
    if ask is not None and ask.run_id == run.pk:
        ask.run = run
    return ask


_ASKED = Ask.objects.select_related("run", "gate", "repeated_by")
_ASK = Prepared(lambda pk: _ASKED.filter(pk=pk))
_NAMED = Prepared(
    lambda session, key: _ASKED.filter(session=session, request_key=key), of=(int, str)
)


def successor_of(ask: Ask | None) -> Ask | None:
    """Return the ask that repeats another one, if there is one."""
    return getattr(ask, "repeated_by", None)


def _deliver_again(session: LockedSession, run: Run, answered: Ask) -> None:
    """Deliver an existing answer once more, with the next run."""
    author = actors.human(answered.decision.decided_by)
    verdict_delivery.deliver_verdict(
        session, answered, answered.decision, author=author, again_to=run
    )
    wakes.wake_session(session, Cause.HUMAN)


def _is_the_same(session: Session, ask: Ask, draft: AskDraft, action: BoundAction | None) -> bool:
    """Whether an ask has the texts of a draft and is bound to the same action in the same run."""
    gate = binding.gate_of(ask)
    if (gate is None) != (action is None):
        return False
    if gate is not None and action is not None:
        now = binding.binding_now(session, ask, action.digest)
        if now != binding.shown_binding(gate):
            return False
    return ask.prompt == make_storable(draft.prompt).strip() and _offered(ask) == [
        (option.key, option.label) for option in draft.options
    ]


def _offered(ask: Ask) -> list[tuple[str, str]]:
    return [(option.key, option.label) for option in ask.options.order_by("position")]


def _offer(ask: Ask, draft: AskDraft) -> None:
    options = [
        Option(
            ask=ask,
            key=option.key,
            label=option.label,
            detail=make_storable(option.detail),
            style=option.style,
            meaning=option.meaning,
            position=place,
        )
        for place, option in enumerate(draft.options)
    ]
    if options:
        statements.insert(*options)


def _bind(
    session: Session, run: Run, ask: Ask, action: BoundAction, draft: ActionDraft, ruling: Ruling
) -> None:
    null = Value(None, JSONField())  # of JSON, not of SQL
    ask.gate = statements.insert(
        Gate(
            ask=ask,
            session=session,
            number=session.gate_count,
            operation=action.operation,
            params=null if action.params is None else action.params,
            params_order=key_order.order_of(action.params),
            files=action.files,
            schema=schema.usable_schema(draft.schema),
            action_hash=action.digest,
            policy_version=ruling.version,
            run_version=binding.run_version(binding.newest_run(session, run)),
        )
    )
    ask.gate.params = action.params
    session.gate_count += 1


def _record_asked(session: LockedSession, run: Run, ask: Ask, draft: AskDraft) -> None:
    options = [option.label for option in draft.options]
    data = {"ask_id": ask.pk} if ask.confidential else {"ask_id": ask.pk, "options": options}
    if draft.action is not None:
        data["gate"] = ask.gate.number
    record_event(
        session,
        "asked",
        actor=actors.agent(session.agent),
        run=run,
        text=_(CONFIDENTIAL) if ask.confidential else ask.prompt,
        data=data,
    )
    hints.notify_queues(ask)
