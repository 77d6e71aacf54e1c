"""Query the asks, sessions and notices of a person: waiting, working, quiet and decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    Min,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
)

from agents.db.statements import Prepared
from agents.lifecycle import (
    NOTHING_IS_WRONG,
    WORKING,
    AgentState,
    RunStatus,
    SessionState,
    Status,
)
from agents.models import Agent, Event, Run, Session
from asks import access
from asks.lifecycle import AskStatus
from asks.models import Ask, Option

NOTICES = 20
#: A session that fails and whose agent would start it: the agent's owners must act.
FAILING = Q(failing_since__isnull=False, agent__lifecycle=AgentState.ACTIVE) & ~Q(
    state=SessionState.ENDED
)


@dataclass(frozen=True)
class Waiting:
    """The open asks of a person, longest wait first, and the sessions blocked without an ask."""

    asks: list[Ask]
    blocked: list[Session]

    @property
    def count(self) -> int:
        return len(self.asks) + len(self.blocked)


def open_asks(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the open asks that a person may answer, longest wait first, with their card facts."""
    return with_card_facts(open_in_order(person))


def open_in_order(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the same asks without what their cards show."""
    return access.in_whose_name(access.asks_for(person), person).order_by("opened_at", "pk")


def with_card_facts(asks: QuerySet[Ask]) -> QuerySet[Ask]:
    """Load everything that a card reads, in a fixed number of queries."""
    return asks.select_related(
        "agent",
        "session",
        "run",
        "gate",
        "closed_by",
        "claimed_by",
        "superseded_by",
        "verdict__decided_by",
        "verdict__on_behalf_of",
    ).prefetch_related(Prefetch("options", Option.objects.order_by("position")))


def blocked_sessions(person: AbstractBaseUser) -> QuerySet[Session]:
    """Return the sessions that report being blocked without an ask, longest first."""
    blocked = access.sessions_of(person).filter(status=Status.BLOCKED, open_asks=0)
    return blocked.select_related("agent").order_by("moved_at", "pk")


def failing_agents(person: AbstractBaseUser) -> QuerySet[Agent]:
    """Return a person's agents with failing sessions, longest first.

    ``failing_count`` is how many sessions fail, ``failing_since`` when the first of them began to,
    ``failing_tries`` how many try again right now, and ``failing_why`` the newest error.
    """
    theirs = Q(sessions__failing_since__isnull=False) & ~Q(sessions__state=SessionState.ENDED)
    failed = Run.objects.filter(
        session__agent=OuterRef("pk"), session__failing_since__isnull=False, status=RunStatus.FAILED
    )
    return (
        Agent.objects.filter(theirs, owners__in=[person.pk], lifecycle=AgentState.ACTIVE)
        .annotate(
            failing_count=Count("sessions", distinct=True),
            failing_tries=Count("sessions", filter=Q(sessions__status__in=WORKING), distinct=True),
            failing_since=Min("sessions__failing_since"),
            failing_why=Subquery(failed.order_by("-pk").values("error")[:1]),
        )
        .order_by("failing_since", "pk")
    )


def needs_you(person: AbstractBaseUser, *, limit: int = 50) -> Waiting:
    """Return the first ``limit`` asks and blocked sessions of a person."""
    return Waiting(list(open_asks(person)[:limit]), list(blocked_sessions(person)[:limit]))


def count_badge(person: AbstractBaseUser) -> int:
    """Return the number of cards in a person's queue. Count nothing else."""
    if person.pk is None:
        return 0
    cards: list[int] = [count for _status, count in _OPEN.rows(person.pk)]
    for failing, sessions, agents in _STUCK.rows(person.pk):
        cards.append(agents if failing else sessions)
    return sum(cards)


def _open_by_status(person: User) -> QuerySet[Any, Any]:
    asks = access.asks_for(person).order_by()
    counted: QuerySet[Any, Any] = asks.values_list("status").annotate(Count("pk"))
    return counted


def _stuck_by_failing(person: User) -> QuerySet[Any, Any]:
    """Count blocked sessions, each of which is a card, and failing agents, of which each is one."""
    stuck = access.sessions_of(person).filter(Q(status=Status.BLOCKED, open_asks=0) | FAILING)
    fails = ExpressionWrapper(Q(failing_since__isnull=False), BooleanField())
    counts = Count("pk"), Count("agent", distinct=True)
    counted: QuerySet[Any, Any] = stuck.order_by().values_list(fails).annotate(*counts)
    return counted


_OPEN = Prepared(lambda pk: _open_by_status(User(pk=pk)))
_STUCK = Prepared(lambda pk: _stuck_by_failing(User(pk=pk)))


def fine_sessions(person: AbstractBaseUser) -> QuerySet[Session]:
    """Return the sessions in which nothing is wrong, for the quiet group."""
    quiet = access.sessions_of(person).filter(~FAILING, status__in=NOTHING_IS_WRONG)
    return quiet.select_related("agent").order_by("agent__slug", "pk")


def working_sessions(person: AbstractBaseUser) -> QuerySet[Session]:
    busy = access.sessions_of(person).filter(~FAILING, status__in=WORKING)
    return busy.select_related("agent").order_by("agent__slug", "pk")


def others_wait(person: AbstractBaseUser) -> QuerySet[Session]:
    """Return the sessions of a person that wait for an answer that only other people can give."""
    mine = access.asks_for(person).order_by().values("session")
    waiting = access.sessions_of(person).filter(status=Status.WAITING_HUMAN).exclude(pk__in=mine)
    return waiting.select_related("agent").order_by("agent__slug", "pk")


def notices(person: AbstractBaseUser) -> QuerySet[Event]:
    """Return the newest notices of a person's agents, newest first. No session waits on one."""
    mine = Exists(access.sessions_of(person).filter(pk=OuterRef("session_id")))
    events = Event.objects.filter(mine, kind="notice").select_related("session__agent")
    return events.order_by("-pk")[:NOTICES]


def decided_asks(person: AbstractBaseUser) -> QuerySet[Ask]:
    """Return the closed asks that a person may see, newest first."""
    over = access.asks_of(person).exclude(status=AskStatus.OPEN)
    return with_card_facts(over).order_by("-closed_at", "-pk")
