"""Choose how the steps of a turn are shown to its caller.

A finished step must never look like a call that is still to be made: a client that has a tool of the
same name would run it again on its own machine.
"""

from __future__ import annotations

from workspace.protocols.responses.models import Response, Steps
from workspace.protocols.responses.server.request import CreateResponse
from workspace.protocols.responses.settings import ResponsesSettings


def steps_of_page(settings: ResponsesSettings, previous: Response | None) -> Steps:
    """Choose for a turn that a person or a schedule starts: as before in its conversation."""
    return Steps(previous.steps) if previous else Steps(settings.steps)


def steps_of_caller(create: CreateResponse, usual: str, previous: Response | None) -> Steps:
    """Choose for a caller's request. ``usual`` is what the agent's settings say.

    What the caller asks for counts, then what the conversation has shown before. Only callers that
    have no tools see function calls, and none follows ``tool_choice: "none"``.
    """
    wish = create.wish
    if wish is None:
        before = Steps(previous.steps) if previous else Steps.CALLS
        wish = Steps(usual) if before == Steps.CALLS else before
        if wish == Steps.CALLS and create.has_tools:
            wish = Steps.REASONING
    return Steps.REASONING if wish == Steps.CALLS and create.forbids_calls else wish
