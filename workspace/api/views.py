"""Convert rows to the shapes that the API returns."""

from __future__ import annotations

from django.db.models import Prefetch, QuerySet

from agents.lifecycle import LIVE_RUNS, YOU_ARE_THE_BLOCKER
from agents.models import Agent, Event, Session
from asks.actions import binding, editing
from asks.models import Ask, Gate, Option, Verdict, Vote
from asks.policies import terms
from asks.policies.terms import AskTerms
from workspace.api import shapes
from workspace.health.presence import status_now


def with_related(asks: QuerySet[Ask]) -> QuerySet[Ask]:
    """Load asks with everything that is shown of them: three queries for any number of asks."""
    return asks.select_related(
        "agent",
        "run",
        "gate",
        "closed_by",
        "claimed_by",
        "answered_by",
        "supersedes",
        "verdict__decided_by",
        "verdict__on_behalf_of",
        "verdict__option",
        "verdict__window",
    ).prefetch_related(
        Prefetch("options", Option.objects.order_by("position")),
        Prefetch("votes", Vote.objects.select_related("voter", "principal", "option")),
    )


def ask_shape(row: Ask) -> shapes.AskShape:
    gate, verdict = getattr(row, "gate", None), getattr(row, "verdict", None)
    replaces, kept = getattr(row, "supersedes", None), terms.terms_of(row)
    return shapes.AskShape(
        id=row.pk,
        path=f"/asks/{row.pk}/",
        kind=row.kind,
        status=row.status,
        agent=_agent(row.agent),
        session=row.session_id,
        run=row.run.number,
        request_key=row.request_key,
        prompt=row.prompt,
        options=[_option(option, kept) for option in row.options.all()],
        free_text=row.free_text,
        gated=row.money_critical,
        action=_action(row, gate) if gate else None,
        binding=shapes.BindingShape(**binding.shown_binding(gate).as_echo()) if gate else None,
        context=row.context,
        opened_at=row.opened_at,
        expires_at=row.expires_at,
        closed_at=row.closed_at,
        closed_by=row.closed_by.get_username() if row.closed_by else None,
        close_reason=row.close_reason,
        terms=row.terms,
        answered_by=row.answered_by.name if row.answered_by else None,
        confidential=row.confidential,
        claimed_by=row.claimed_by.get_username() if row.claimed_by else None,
        votes=[_vote(vote) for vote in row.votes.all()],
        replaces=replaces.pk if replaces else None,
        replaced_by=row.superseded_by_id,
        verdict=_verdict(verdict) if verdict and not verdict.is_held else None,
        takes_effect_at=verdict.window.until if verdict and verdict.is_held else None,
        version=row.card_version,
    )


def session_shape(row: Session) -> shapes.SessionShape:
    run = row.runs.filter(status__in=LIVE_RUNS).first()
    live = run and shapes.LiveRun(
        number=run.number,
        status=run.status,
        queued_at=run.queued_at,
        started_at=run.started_at,
    )
    now = status_now(row)
    return shapes.SessionShape(
        id=row.pk,
        path=f"/sessions/{row.pk}/",
        title=row.title,
        agent=_agent(row.agent),
        state=row.state,
        status=now.status,
        status_reason=now.reason,
        needs_you=row.status in YOU_ARE_THE_BLOCKER,
        open_asks=row.open_asks,
        live_run=live,
        last_outcome=row.last_outcome,
        last_seq=row.last_seq,
        wake_at=row.held_until or row.wake_at,
        created_at=row.created_at,
    )


def event_shape(row: Event) -> shapes.EventShape:
    return shapes.EventShape(
        seq=row.seq,
        kind=row.kind,
        actor=row.actor,
        text=row.text,
        data=row.data,
        run=row.run.number if row.run else None,
        at=row.created_at,
    )


def _agent(row: Agent) -> shapes.AgentShape:
    return shapes.AgentShape(slug=row.slug, name=row.name)


def _option(row: Option, kept: AskTerms) -> shapes.OptionShape:
    style = terms.style_of(row, kept)
    return shapes.OptionShape(
        key=row.key, label=row.label, detail=row.detail, style=style, meaning=row.meaning
    )


def _action(row: Ask, gate: Gate) -> shapes.ActionShape:
    applied = terms.terms_of(row)
    return shapes.ActionShape(
        operation=gate.operation,
        params=editing.asked_params(gate),
        gate=gate.number,
        params_schema=gate.schema,
        may_edit=applied.may_edit and not applied.many_decide,
    )


def _vote(row: Vote) -> shapes.VoteShape:
    return shapes.VoteShape(
        voter=row.voter.get_username(),
        in_the_name_of=row.principal.get_username(),
        option=row.option.key,
        meaning=row.meaning,
        cast_at=row.cast_at,
    )


def _verdict(row: Verdict) -> shapes.VerdictShape:
    return shapes.VerdictShape(
        option=row.option.key if row.option else None,
        label=row.option_label,
        text=row.text,
        meaning=row.meaning,
        decided_by=row.decided_by.get_username(),
        on_behalf_of=row.on_behalf_of.get_username() if row.on_behalf_of else None,
        decided_at=row.decided_at,
        via=row.via,
        edited=row.edit["edited"] if row.edit else None,
    )
