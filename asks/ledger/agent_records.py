"""Record in the ledger who changed an agent, and what: old and new, without secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agents import actors
from agents.mending.changes import AgentChange
from agents.models import Agent
from agents.text.storable import make_storable
from asks.ledger import chain
from asks.models import LedgerRecord

KIND = "agent_changed"
#: Longer texts are cut in the record, which says how long they were.
MOST = 4_000


@dataclass(frozen=True)
class RecordedChange:
    """One field of a recorded change of an agent, and who changed it when."""

    field: str
    old: Any
    new: Any
    by: str
    at: datetime
    what: str


def record_agent_change(change: AgentChange) -> None:
    """Append the record, in the transaction of the change."""
    facts = {
        "what": change.what,
        "agent": change.agent.pk,
        "version": change.agent.version,
        "changed": {name: [_short(one) for one in pair] for name, pair in change.fields.items()},
        "names": {
            "agent": change.agent.slug,
            "by": change.by.get_username() if change.by else None,
        },
    }
    chain.append_record(
        KIND,
        subject=f"agent:{change.agent.pk}",
        data=make_storable(facts),
        actor=actors.human(change.by) if change.by else actors.SYSTEM,
    )


def _short(value: Any) -> Any:  # noqa: ANN401 -- JSON
    if not isinstance(value, str) or len(value) <= MOST:
        return value
    return f"{value[:MOST]} [… of {len(value)} characters]"


def changes_of(agent: Agent, *, since_version: int = 0, most: int = 50) -> list[RecordedChange]:
    """Return the recorded changes of an agent after a version, newest first."""
    records = LedgerRecord.objects.filter(chain="workspace:agent", subject=f"agent:{agent.pk}")
    found = [one for record in records.order_by("-seq")[:most] for one in _read(record)]
    return [one for version, one in found if version > since_version]


def _read(record: LedgerRecord) -> Iterator[tuple[int, RecordedChange]]:
    facts = json.loads(record.body)["facts"]
    for name, (old, new) in sorted(facts["changed"].items()):
        change = RecordedChange(
            name, old, new, actors.name_of(record.actor), record.at, facts["what"]
        )
        yield facts["version"], change
