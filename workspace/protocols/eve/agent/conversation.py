"""The conversation of a session: one row for the messages of each completed turn."""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction

from agents.db import statements
from agents.db.statements import Prepared
from agents.lifecycle import LIVE_RUNS, RunStatus
from agents.locking import lock_session
from agents.models import Run
from workspace.protocols.eve.models import EveTurn

#: Run statuses whose turns belong to the conversation.
COUNTED = (RunStatus.COMPLETED, RunStatus.CONTINUED, RunStatus.WAITING_HUMAN)

_KEEP = """
INSERT INTO workspace_eveturn (session_id, run_id, messages, forgotten) VALUES (%s, %s, %s, false)
ON CONFLICT (run_id) DO UPDATE SET messages = EXCLUDED.messages RETURNING run_id
"""


def conversation_of(session_id: int) -> list[Any]:
    """Return the messages so far, oldest first, as pydantic-ai's JSON."""
    return [message for turn in _TURNS.all(session_id) for message in turn.messages]


_TURNS = Prepared(
    lambda pk: (
        EveTurn.objects.filter(session=pk, run__status__in=COUNTED, forgotten=False)
        .order_by("run__number")
        .only("messages")
    )
)


def store_conversation(session_id: int, run_id: int, messages: list[Any]) -> None:
    """Store the new messages of a turn. They count only if its run reaches a COUNTED status."""
    text = json.dumps(messages, ensure_ascii=False)
    statements.query(_KEEP, session_id, run_id, text)


@transaction.atomic
def forget_conversation(session_id: int) -> bool:
    """Clear the conversation of a session. Return False and change nothing while a run is live."""
    session = lock_session(session_id)
    if Run.objects.filter(session=session, status__in=LIVE_RUNS).exists():
        return False
    EveTurn.objects.filter(session=session).update(forgotten=True)
    own = session.data.get("eve") or {}
    session.data = {**session.data, "eve": {**own, "parked": []}}
    session.save(update_fields=["data"])
    return True
