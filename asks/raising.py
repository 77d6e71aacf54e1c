"""Raises what a run asks: as rows, once per request, in the transaction that settles the turn."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import F

from agents import clock, events, hints, prose
from agents.models import Run, Session
from agents.words import is_blank
from asks import binding, policies
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.models import Ask, Gate, Option

MAX_PROMPT = 16_000
MAX_OPTIONS = 60
MAX_LABEL = 4_000
MAX_KEY = 100
MAX_OPERATION = 200


class BadDraft(ValueError):
    """A question that cannot be asked, with what is wrong with it."""


def raise_asks(session: Session, run: Run, drafts: Sequence[object]) -> None:
    """Raise each draft on a locked session; what cannot be asked is said in the thread."""
    for draft in drafts:
        if not isinstance(draft, AskDraft):
            raise TypeError(f"{type(draft).__name__} is not an AskDraft.")
        try:
            raise_ask(session, run, draft)
        except BadDraft as error:
            events.record(
                session,
                "ignored",
                actor="system",
                run=run,
                text=draft.prompt[:2000],
                data={"why": str(error)},
            )


def raise_ask(session: Session, run: Run, draft: AskDraft) -> Ask:
    """One ask, on a locked session. A request raised before is returned as it is. BadDraft if ill-formed.

    The caller restates the session.
    """
    _check(draft)
    known = Ask.objects.filter(session=session, request_key=draft.request_key).first()
    if known is not None:
        return known
    ask = _create(session, run, draft)
    if draft.action is not None:
        _bind(session, run, ask, draft.action)
    _count(session, run, +1)
    _say_asked(session, run, ask, draft)
    return ask


def _create(session: Session, run: Run, draft: AskDraft) -> Ask:
    prompt = draft.prompt.replace("\x00", "\ufffd").strip()
    ask = Ask.objects.create(
        session=session,
        run=run,
        agent=session.agent,
        request_key=draft.request_key,
        kind=draft.kind,
        prompt=prompt,
        prompt_html=prose.to_html(prompt),
        free_text=draft.free_text or not draft.options,
        money_critical=draft.action.money_critical if draft.action else False,
        context=draft.context,
        expires_at=clock.now() + draft.expires_in if draft.expires_in else None,
    )
    Option.objects.bulk_create(
        Option(
            ask=ask,
            key=option.key,
            label=option.label,
            detail=option.detail,
            style=option.style,
            meaning=option.meaning,
            position=place,
        )
        for place, option in enumerate(draft.options)
    )
    return ask


def _bind(session: Session, run: Run, ask: Ask, action: ActionDraft) -> Gate:
    gate = Gate.objects.create(
        ask=ask,
        session=session,
        number=session.gate_count,
        operation=action.operation,
        params=action.params,
        action_hash=binding.action_hash(action.operation, action.params),
        policy_version=policies.version_in_force(session.agent_id),
        run_version=binding.run_version(run),
    )
    session.gate_count += 1
    session.save(update_fields=["gate_count"])
    return gate


def _say_asked(session: Session, run: Run, ask: Ask, draft: AskDraft) -> None:
    events.record(
        session,
        "asked",
        actor=f"agent:{session.agent.slug}",
        run=run,
        text=ask.prompt,
        data={"ask_id": ask.pk, "options": [option.label for option in draft.options]},
    )
    tell_owners(session)


def _count(session: Session, run: Run, change: int) -> None:
    """The only writer of how many asks are open. The session's own field is saved by restate."""
    session.open_asks += change
    session.save(update_fields=["open_asks"])
    Run.objects.filter(pk=run.pk).update(open_asks=F("open_asks") + change)
    run.open_asks += change


def tell_owners(session: Session) -> None:
    """Hint at every owner's page that their queue changed."""
    for owner_id in session.agent.owners.values_list("pk", flat=True):
        hints.queue_moved(owner_id)


def _check(draft: AskDraft) -> None:
    if is_blank(draft.prompt):
        raise BadDraft("The question has no words.")
    if len(draft.prompt) > MAX_PROMPT:
        raise BadDraft(f"The question has {len(draft.prompt)} characters; {MAX_PROMPT} are the most.")
    if not draft.request_key or len(draft.request_key) > 200:
        raise BadDraft("The request key must have 1 to 200 characters.")
    _check_options(draft.options)
    if draft.action is not None:
        _check_action(draft.action)


def _check_options(options: tuple[OptionDraft, ...]) -> None:
    if len(options) > MAX_OPTIONS:
        raise BadDraft(f"There are {len(options)} options; {MAX_OPTIONS} are the most.")
    if len({option.key for option in options}) < len(options):
        raise BadDraft("Two options have the same id.")
    for option in options:
        if is_blank(option.label) or not option.key or "\x00" in option.label + option.key:
            raise BadDraft("An option has no label or no id.")
        if len(option.label) > MAX_LABEL or len(option.key) > MAX_KEY:
            raise BadDraft(f"An option is too long: {MAX_LABEL} characters are the most.")


def _check_action(action: ActionDraft) -> None:
    if is_blank(action.operation) or len(action.operation) > MAX_OPERATION:
        raise BadDraft(f"The operation must have 1 to {MAX_OPERATION} characters.")
    try:
        canonical = binding.canonical(action.params)
    except binding.Unhashable as error:
        raise BadDraft(f"The action cannot be bound. {error}") from error
    if b"\\u0000" in canonical:
        raise BadDraft("The action cannot be bound. PostgreSQL holds no NUL character.")
