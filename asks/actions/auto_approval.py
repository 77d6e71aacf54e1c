"""Grant an action that the policy allows without asking, and report it to the next turn.

No verdict is recorded, because no person decided.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from agents import actors, inbox
from agents.events.log import record_event
from agents.lifecycle import InboxKind
from agents.locking import LockedSession
from agents.models import InboxItem, Run
from asks.actions import grants
from asks.actions.binding import BoundAction
from asks.drafts import AskDraft, OptionDraft
from asks.lifecycle import Meaning
from asks.policies.versions import Ruling


def allow_action(
    session: LockedSession, run: Run, draft: AskDraft, action: BoundAction | None, ruling: Ruling
) -> bool:
    """Grant an action that the policy allows. Return False if a person must be asked instead.

    A person is asked if this run proposes an action that it was already allowed. Otherwise an agent
    that ignores its grants could loop without anybody noticing.
    """
    if action is None or draft.action is None or draft.action.always_asks:
        return False
    if run.given.filter(kind=InboxKind.VERDICT, data__allowed=action.digest).exists():
        return False
    key = f"allowed:{run.pk}:{action.digest[-40:]}"
    if not InboxItem.objects.filter(session=session, source_key=key).exists():
        grants.grant_by_policy(session, draft.request_key, action, version=ruling.version)
        _report(session, run, draft, action, ruling, key=key)
    return True


def _report(
    session: LockedSession,
    run: Run,
    draft: AskDraft,
    action: BoundAction,
    ruling: Ruling,
    *,
    key: str,
) -> None:
    why = _("Policy version {version} allows this without asking: {why}.").format(
        version=ruling.version, why=ruling.why
    )
    record_event(
        session,
        "allowed",
        actor=actors.policy(ruling.version),
        run=run,
        text=_("{operation}: allowed. {why}").format(operation=action.operation, why=why),
        data={"operation": action.operation, "params": action.params, "why": ruling.why},
    )
    option = _approving(draft)
    inbox.enqueue_item(
        session,
        InboxKind.VERDICT,
        author=actors.policy(ruling.version),
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
            "allowed": action.digest,
        },
        source_key=key,
    )


def _approving(draft: AskDraft) -> OptionDraft:
    """Return the approving option, so that each protocol can report the approval in its own form."""
    approving = (option for option in draft.options if option.meaning == Meaning.APPROVE)
    return next(approving, OptionDraft("", _("Allowed"), meaning=Meaning.APPROVE))
