"""The conversation of a session: what each completed turn added to it, as rows."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection, transaction

from agents.lifecycle import LIVE_RUNS, RunStatus
from agents.locking import lock_session
from agents.models import Run
from agents.prepared import Prepared
from agents.runtime import Fence
from workspace.models import EveTurn

#: Statuses of a run whose turn is part of the conversation.
COUNTED = (RunStatus.COMPLETED, RunStatus.CONTINUED, RunStatus.WAITING_HUMAN)

#: One statement that holds on to the claim, so it needs no lock on the session.
_KEEP = """
WITH held AS (
    SELECT id, session_id FROM agents_run WHERE id = %s AND epoch = %s AND status = 'running' FOR SHARE
)
INSERT INTO workspace_eveturn (run_id, session_id, messages, forgotten)
SELECT id, session_id, %s, false FROM held
ON CONFLICT (run_id) DO UPDATE SET messages = EXCLUDED.messages
"""


def of(session_id: int) -> list[Any]:
    """The messages so far, oldest first: pydantic-ai's, as JSON."""
    return [message for turn in _TURNS.all(session_id) for message in turn.messages]


_TURNS = Prepared(
    lambda pk: (
        EveTurn.objects.filter(session=pk, run__status__in=COUNTED, forgotten=False)
        .order_by("run__number")
        .only("messages")
    )
)


def keep(fence: Fence, messages: list[Any]) -> bool:
    """Keep what a turn added; it counts once its run completes. False when the claim is lost.

    Doing it again keeps what was said last.
    """
    told = json.dumps(messages, ensure_ascii=False)
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [fence.run_id, fence.epoch, told])
        return bool(cursor.rowcount == 1)


@transaction.atomic
def forget(session_id: int) -> bool:
    """Have the agent forget what was said. False, and nothing forgotten, while a run is live."""
    session = lock_session(session_id)
    if Run.objects.filter(session=session, status__in=LIVE_RUNS).exists():
        return False
    EveTurn.objects.filter(session=session).update(forgotten=True)
    own = session.data.get("eve") or {}
    session.data = {**session.data, "eve": {**own, "parked": []}}
    session.save(update_fields=["data"])
    return True
