"""A real Agent Framework workflow that asks a person, behind Microsoft's own Responses host.

python workflow_host.py PORT, in an environment that has agent-framework-foundry-hosting.
"""

# That environment is not the one that types are checked in.
# mypy: disable-error-code="import-not-found,misc,untyped-decorator,no-any-unimported"

from __future__ import annotations

import sys
from typing import Any

from agent_framework import (
    Executor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)
from agent_framework_foundry_hosting import ResponsesHostServer

ASKED = {"question": "Which ledger: EU or US?", "options": ["EU", "US"]}


class Closer(Executor):
    """Asks which ledger, and says which it was told."""

    @handler(input=list[Message])
    async def begin(self, _: Any, ctx: WorkflowContext) -> None:
        await ctx.request_info(ASKED, str)

    @response_handler(request=dict, response=str, workflow_output=str)
    async def answered(self, _: Any, answer: Any, ctx: WorkflowContext) -> None:
        await ctx.yield_output(f"Reconciled {answer} as asked.")


if __name__ == "__main__":
    workflow = WorkflowBuilder(start_executor=Closer(id="closer")).build()
    host = ResponsesHostServer(workflow.as_agent(name="closer"))
    host.run(host="127.0.0.1", port=int(sys.argv[1]))
