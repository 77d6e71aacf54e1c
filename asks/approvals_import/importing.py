"""Import the items of an approvals file: open ones as open asks, decided ones as history.

The import writes no verdicts, because nobody can prove who made the decisions in the file. A decided
item becomes a closed ask. Its close reason quotes the file and says that the ask was imported.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from agents import actors, registration, transitions
from agents.events.log import record_event
from agents.lifecycle import Cause, Outcome, RunStatus
from agents.locking import LockedSession, lock_agent, lock_session
from agents.models import Agent, Run
from agents.text import html
from agents.text.storable import make_storable
from asks import raising
from asks.approvals_import.items import ApprovalItem
from asks.drafts import AskDraft, OptionDraft
from asks.drafts.validation import BadDraft, check_draft
from asks.ledger import chain
from asks.lifecycle import AskStatus
from asks.models import Ask

TITLE = "Imported approvals"
MAX_REASON = 1000


@dataclass(frozen=True)
class Planned:
    """An item with its request key. ``ask`` is the ask of an earlier import of the same item."""

    item: ApprovalItem
    key: str
    ask: Ask | None = None

    @property
    def is_known(self) -> bool:
        return self.ask is not None


def plan_import(
    items: Iterable[ApprovalItem], *, file: str, agent: Agent | None = None
) -> list[Planned]:
    """Give each item its key, and find the items that the agent already has.

    The key is made of the text, the name of the file, and a counter for repeated texts.
    """
    counts: Counter[str] = Counter()
    keyed = []
    for item in items:
        text = " ".join(item.text.split()).casefold()
        counts[text] += 1
        whole = "\0".join([file, text, str(counts[text])])
        digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
        keyed.append((item, f"import:{digest[:40]}"))
    known = {}
    if agent is not None:
        asks = Ask.objects.filter(agent=agent, request_key__in=[key for _, key in keyed])
        known = {ask.request_key: ask for ask in asks}
    return [Planned(item, key, known.get(key)) for item, key in keyed]


@transaction.atomic
def import_items(
    items: Sequence[ApprovalItem], *, file: str, agent: Agent, by: AbstractBaseUser
) -> tuple[list[Ask], list[tuple[ApprovalItem, str]]]:
    """Import the new items on behalf of an owner of the agent.

    Return the asks, and each item that cannot become an ask with the reason. The asks belong to a
    separate session, so that the import does not affect open sessions.
    """
    lock_agent(agent.pk)
    new = [
        planned for planned in plan_import(items, file=file, agent=agent) if not planned.is_known
    ]
    if not new:
        return [], []
    session = _session(agent)
    run = _run(session)
    made, refused = [], []
    for planned in new:
        try:
            made.append(_import(session, run, planned, file, by))
        except BadDraft as error:
            refused.append((planned.item, str(error)))
    record_event(
        session,
        "state",
        actor=actors.human(by),
        text=f"{len(made)} items were imported from {make_storable(file)[:200]}.",
    )
    transitions.store_status(session, transitions.live_run(session))
    return made, refused


def _session(agent: Agent) -> LockedSession:
    """Lock and return the agent's import session. Open it on the first import."""
    before = Ask.objects.filter(agent=agent, imported=True, request_key__startswith="import:")
    known = before.values_list("session_id", flat=True).first()
    if known is not None:
        return lock_session(known)
    return lock_session(registration.open_session(agent, title=TITLE).pk)


def _run(session: LockedSession) -> Run:
    """Create a completed run that represents the import. Each answer starts another run."""
    session.run_count += 1
    return Run.objects.create(
        session=session,
        number=session.run_count,
        status=RunStatus.COMPLETED,
        cause=Cause.HUMAN,
        outcome=Outcome.BLOCKED,
        started_at=session.locked_at,
        ended_at=session.locked_at,
    )


def _import(
    session: LockedSession, run: Run, planned: Planned, file: str, by: AbstractBaseUser
) -> Ask:
    item = planned.item
    draft = AskDraft(
        request_key=planned.key,
        prompt=_prompt(item),
        options=tuple(
            OptionDraft(f"opt{place}", make_storable(label))
            for place, label in enumerate(item.options, start=1)
        ),
        free_text=True,
        context=_context(item, file),
    )
    check_draft(draft)
    if item.decision:
        ask = _history(session, run, draft, item, file)
    else:
        ask = raising.create_ask(session, run, draft, imported=True)
    chain.append_import(ask, by=by, source=draft.context)
    return ask


def _prompt(item: ApprovalItem) -> str:
    return str(make_storable("\n\n".join([item.text, *item.details])))


def _context(item: ApprovalItem, file: str) -> dict[str, str]:
    """Return the source of an item. ``file`` is a name without its folder."""
    source = {"from": f"{file}, line {item.line}", "under": item.under}
    if item.decision:
        source |= {"the file says": item.decision, "by": item.by}
    return {name: make_storable(text)[:2000] for name, text in source.items() if text}


def _history(
    session: LockedSession, run: Run, draft: AskDraft, item: ApprovalItem, file: str
) -> Ask:
    """Create a closed ask without a verdict. ``closed_by`` is empty."""
    author = item.by or "somebody the file does not name"
    why = f"Imported. According to {file}, {author} decided: {item.decision}"
    return Ask.objects.create(
        session=session,
        run=run,
        agent=session.agent,
        request_key=draft.request_key,
        prompt=draft.prompt,
        prompt_html=html.render_html(draft.prompt),
        context=draft.context,
        imported=True,
        status=AskStatus.WITHDRAWN,
        opened_at=session.locked_at,
        closed_at=session.locked_at,
        close_reason=make_storable(why)[:MAX_REASON],
    )
