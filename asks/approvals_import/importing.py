"""Takes over the items of an approvals file: what is open as asks, what was decided as history.

No verdict is written for anybody: who really decided what the file calls decided, nobody can prove
here. Such an item becomes a closed ask that says that it was imported and what the file said.
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
    """An item and the key it is known by. ``ask`` is what it was imported as before, if it was."""

    item: ApprovalItem
    key: str
    ask: Ask | None = None

    @property
    def is_known(self) -> bool:
        return self.ask is not None


def plan_import(
    items: Iterable[ApprovalItem], *, file: str, agent: Agent | None = None
) -> list[Planned]:
    """Which items are new. An item is known by its words, its file, and which of the same it is."""
    counts: Counter[str] = Counter()
    keyed = []
    for item in items:
        words = " ".join(item.text.split()).casefold()
        counts[words] += 1
        whole = "\0".join([file, words, str(counts[words])])
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
    """Import what is new, for an owner of the agent; the asks, and what could not be one with why.

    They live in a session of their own, so that nothing that waits elsewhere is disturbed.
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
    """The session that earlier imports of this agent made, or a new one; locked."""
    before = Ask.objects.filter(agent=agent, imported=True, request_key__startswith="import:")
    known = before.values_list("session_id", flat=True).first()
    if known is not None:
        return lock_session(known)
    return lock_session(registration.open_session(agent, title=TITLE).pk)


def _run(session: LockedSession) -> Run:
    """The run that stands for the import: it is over, so each answer is carried by one of its own."""
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
    """Where it came from. The file's name only: its folder is this machine's business."""
    said = {"from": f"{file}, line {item.line}", "under": item.under}
    if item.decision:
        said |= {"the file says": item.decision, "by": item.by}
    return {name: make_storable(words)[:2000] for name, words in said.items() if words}


def _history(
    session: LockedSession, run: Run, draft: AskDraft, item: ApprovalItem, file: str
) -> Ask:
    """A closed ask without a verdict, and with nobody as the one who closed it."""
    author = item.by or "somebody whom the file does not name"
    why = f"Imported: decided before, by {author}, as {file} says: {item.decision}"
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
