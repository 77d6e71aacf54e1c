"""Lets an action pass that the policy asks nobody about: a grant, told to the next turn as such.

It is no verdict: no person decided, and none is named.
"""

from __future__ import annotations

from agents import inbox
from agents.events.log import record_event
from agents.lifecycle import InboxKind
from agents.locking import LockedSession
from agents.models import InboxItem, Run
from asks.actions import binding, bound_files, grants
from asks.drafts import ActionDraft, AskDraft, OptionDraft
from asks.lifecycle import Meaning
from asks.policies.versions import Ruling


def allow_action(session: LockedSession, run: Run, draft: AskDraft, ruling: Ruling) -> bool:
    """Grant a draft's action on a locked session. False when a person is better asked.

    That is when this very run was told so for this very action and proposes it again: an agent that
    does not act on what it is allowed would go in circles that nobody sees.
    """
    if draft.action is None or draft.action.always_asks:
        return False
    files = bound_files.hash_files(session.agent, draft.action, ruling)
    digest = binding.action_hash(draft.action.operation, draft.action.params, files)
    if run.given.filter(kind=InboxKind.VERDICT, data__allowed=digest).exists():
        return False
    key = f"allowed:{run.pk}:{digest[-40:]}"
    if not InboxItem.objects.filter(session=session, source_key=key).exists():
        grants.grant_by_policy(session, draft, files=files, version=ruling.version)
        _tell(session, run, draft, ruling, digest=digest, key=key)
    return True


def _tell(
    session: LockedSession, run: Run, draft: AskDraft, ruling: Ruling, *, digest: str, key: str
) -> None:
    action = draft.action or ActionDraft("", None)
    why = f"Policy version {ruling.version} asks nobody: {ruling.why}."
    record_event(
        session,
        "allowed",
        actor=f"policy:v{ruling.version}",
        run=run,
        text=f"{action.operation}: allowed. {why}",
        data={"operation": action.operation, "params": action.params, "why": ruling.why},
    )
    option = _approving(draft)
    inbox.enqueue_item(
        session,
        InboxKind.VERDICT,
        author=f"policy:v{ruling.version}",
        body=f"{option.label} — {why}",
        data={
            "ask_id": None,
            "request_key": draft.request_key,
            "prompt": draft.prompt,
            "option": option.key,
            "label": option.label,
            "text": why,
            "meaning": Meaning.APPROVE.value,
            "operation": action.operation,
            "params": action.params,
            "allowed": digest,
        },
        source_key=key,
    )


def _approving(draft: AskDraft) -> OptionDraft:
    """The option that a person would have chosen, so that the protocol can say it its own way."""
    approving = (option for option in draft.options if option.meaning == Meaning.APPROVE)
    return next(approving, OptionDraft("", "Allowed", meaning=Meaning.APPROVE))
