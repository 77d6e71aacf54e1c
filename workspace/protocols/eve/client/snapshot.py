"""Read what the database holds at the start of a turn with a remote eve agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.models import Event
from asks.drafts import request_keys
from asks.lifecycle import AskStatus
from asks.models import Ask
from workspace.protocols.eve.client.decoder import PriorTurns


@dataclass(frozen=True)
class EveSnapshot:
    """The session's request keys: ``asked`` all, ``withdrawn`` those whose last ask was withdrawn."""

    asked: frozenset[str] = frozenset()
    withdrawn: frozenset[str] = frozenset()
    before: PriorTurns = field(default_factory=PriorTurns)


def snapshot_of(session_id: int, run_id: int) -> EveSnapshot:
    """Read the snapshot of a session and the run. Two queries."""
    events = Event.objects.filter(run=run_id, kind__in=("output", "step"))
    rows = list(events.values_list("kind", "text", "data"))
    asks = Ask.objects.filter(session=session_id).order_by("pk")
    last = {
        request_keys.root_of(key): end for key, end in asks.values_list("request_key", "status")
    }
    steps = [data for kind, _, data in rows if kind == "step"]
    return EveSnapshot(
        asked=frozenset(last),
        withdrawn=frozenset(key for key, end in last.items() if end == AskStatus.WITHDRAWN),
        before=PriorTurns(
            sum(len(text) for kind, text, _ in rows if kind == "output"),
            frozenset((str(one.get("call_id")), str(one.get("status", ""))) for one in steps),
        ),
    )
