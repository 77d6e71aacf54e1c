"""Every operation of the API. The URLs and the OpenAPI document are built from this list."""

from __future__ import annotations

from workspace.api import asks, grants, sessions, shapes
from workspace.api.agent_operations import AGENT_OPERATIONS
from workspace.api.door import Operation
from workspace.models import Scope

READ = (Scope.RUN_READ.value, Scope.ASK_ANSWER.value)
ANSWER = (Scope.ASK_ANSWER.value,)

OPERATIONS = (
    *AGENT_OPERATIONS,
    Operation(
        method="GET",
        path="asks",
        name="listAsks",
        summary="List asks, longest wait first; open ones unless `status` says otherwise.",
        scopes=READ,
        handler=asks.list_asks,
        answer=shapes.Asks,
        query=shapes.AskQuery,
    ),
    Operation(
        method="GET",
        path="asks/{ask_id}",
        name="getAsk",
        summary="Get one ask: its options, the binding that an answer must echo, and its verdict.",
        scopes=READ,
        handler=asks.get_ask,
        answer=shapes.AskShape,
        refusals=(404,),
    ),
    Operation(
        method="POST",
        path="asks/{ask_id}/answer",
        name="answerAsk",
        summary="Answer as the key's person. Repeating the same answer is 200 with `repeated`.",
        scopes=ANSWER,
        handler=asks.post_answer,
        answer=shapes.AnsweredShape,
        body=shapes.AnswerBody,
        refusals=(404, 409, 410, 428),
        decides=True,
    ),
    Operation(
        method="POST",
        path="asks/{ask_id}/cancel",
        name="cancelAsk",
        summary="Withdraw an open ask. This approves nothing, and the run continues.",
        scopes=ANSWER,
        handler=asks.post_cancel,
        answer=shapes.Withdrawn,
        body=shapes.CancelBody,
        refusals=(404, 409, 410),
        decides=True,
    ),
    Operation(
        method="GET",
        path="grants",
        name="listGrants",
        summary="List what agents may do once: approved, and neither used nor ended.",
        scopes=READ,
        handler=grants.list_grants,
        answer=shapes.GrantList,
        query=shapes.GrantQuery,
    ),
    Operation(
        method="POST",
        path="grants/{grant_id}/withdraw",
        name="withdrawGrant",
        summary="Take back an approval before it is used. The agent has to ask again.",
        scopes=ANSWER,
        handler=grants.post_withdrawal,
        answer=shapes.GrantShape,
        body=shapes.NoBody,
        refusals=(404, 409),
    ),
    Operation(
        method="GET",
        path="sessions/{session_id}",
        name="getSession",
        summary="Get a session: its status, and the reason for it.",
        scopes=(Scope.RUN_READ.value,),
        handler=sessions.get_session,
        answer=shapes.SessionShape,
        refusals=(404,),
    ),
    Operation(
        method="GET",
        path="sessions/{session_id}/events",
        name="listEvents",
        summary="List the events of a session after a sequence number, oldest first.",
        scopes=(Scope.RUN_READ.value,),
        handler=sessions.list_events,
        answer=shapes.Events,
        query=shapes.EventQuery,
        refusals=(404, 409),
    ),
)
