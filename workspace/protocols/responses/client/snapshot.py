"""Read what the database holds at the start of a turn with a remote agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.models import Event
from asks.lifecycle import AskStatus
from asks.models import Ask


@dataclass
class PriorItems:
    """What the run's thread already holds: the number of output characters, and the ids of steps."""

    characters: int = 0
    steps: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ResponsesSnapshot:
    """The session's asks by their request keys: ``asked`` all, ``waiting`` the open ones."""

    asked: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    before: PriorItems = field(default_factory=PriorItems)


def snapshot_of(session_id: int, run_id: int) -> ResponsesSnapshot:
    """Read the snapshot of a session and the run. Two queries."""
    events = Event.objects.filter(run=run_id, kind__in=("output", "step"))
    rows = list(events.values_list("text", "data"))
    asks = dict(Ask.objects.filter(session=session_id).values_list("request_key", "status"))
    return ResponsesSnapshot(
        asked=frozenset(asks),
        waiting=frozenset(key for key, status in asks.items() if status == AskStatus.OPEN),
        before=PriorItems(
            sum(len(text) for text, data in rows if not data.get("call_id")),
            frozenset(data["call_id"] for _, data in rows if data.get("call_id")),
        ),
    )
