"""The texts of a leaf session's agent. Where the protocol fixes the wording, it is verbatim."""

from __future__ import annotations

from workspace.protocols.leaf.wire import APPROVE, WorkItem

SUBMIT_VERDICT = (
    "Submit your final verdict for the item. Call this exactly once, when you are done, then stop."
)
REQUEST_APPROVAL = (
    "Ask for human approval before you go on. Call this at most once, then stop: the session pauses "
    "and resumes with the human decision."
)
VERDICT_RECORDED = "Verdict recorded."
APPROVAL_REQUESTED = (
    "Approval requested; the session will pause and resume with the human decision."
)
EMPTY_REQUEST = "Invalid request_approval: summary and proposed_action must be non-empty strings"
GATE_FIRST = (
    "Approval was requested in the same turn, so no verdict is taken before the human decision."
)
WITHDRAWN = (
    "Human decision: NONE. Your request for approval was closed without a decision, so nothing was "
    "approved.\nRevise if you can, and call request_approval again when ready."
)


def fresh_prompt(item: WorkItem, workspace: str) -> str:
    """Return the first prompt of a session. For a gated item it names the gate, not the verdict."""
    place = f"{workspace.rstrip('/')}/{item.file}" if workspace else item.file
    lines = [
        "You are reviewing one candidate finding in a workspace.",
        f"Item id: {item.item_id}",
        f"File (read this exact path with the read tool): {place}",
        f"Pattern of interest: {item.pattern}",
        "Read the file and decide whether the pattern is present and relevant.",
    ]
    if item.require_approval:
        lines.append(
            "A human MUST approve before anything else happens. Your FIRST and ONLY action is to "
            "call the request_approval tool exactly once, with a short summary of what you found "
            "and a proposed_action that states the verdict you intend. Submit nothing yet: call it, "
            "then stop."
        )
    else:
        lines.append(
            "Report by calling the submit_verdict tool exactly once with "
            f'item_id="{item.item_id}". Do not do anything else.'
        )
    return "\n".join(lines)


def continuation(action: str, feedback: str | None) -> str:
    """Return the prompt that continues a session after a decision."""
    if action == APPROVE:
        return (
            f"Human decision: APPROVED.{f' {feedback}' if feedback else ''}\n"
            "Proceed with the action you proposed. When you are finished, call submit_verdict "
            "exactly once, then stop."
        )
    return (
        f"Human decision: REJECTED. {'No feedback provided.' if feedback is None else feedback}\n"
        "Revise accordingly, then call request_approval again: no verdict is taken until a human "
        "has approved."
    )


def owner_message(text: str) -> str:
    """Return the prompt part for a message to a session, which decides nothing."""
    return f"A message from the owner, which is not a decision:\n{text}"
