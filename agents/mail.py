"""Mail between agents that share an owner. A limit on hops keeps it from circling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents import actors, inbox, next_run, wakes
from agents.events.log import record_event
from agents.lifecycle import Cause, InboxKind, SessionState
from agents.locking import LockedSession, lock_session, lock_sessions
from agents.models import Run, Session
from agents.running.runtime import Mail
from agents.text.storable import is_blank, is_storable

MAIL_LIMIT = 16_000


def lock_with_recipients(session_id: int, mails: Iterable[Mail]) -> dict[int, LockedSession]:
    """Lock the sender's session and the home sessions it may write to; return them by id."""
    slugs = {mail.to_slug for mail in mails if is_storable(mail.to_slug)}
    homes: Sequence[int] = []
    if slugs:
        homes = list(
            Session.objects.filter(
                is_home=True,
                agent__slug__in=slugs,
                agent__owners__agents__sessions=session_id,
            )
            .order_by("pk")
            .values_list("pk", flat=True)
            .distinct()
        )
    return lock_sessions([session_id, *homes]) if homes else {session_id: lock_session(session_id)}


def send_mails(
    session: LockedSession, run: Run, mails: Sequence[Mail], locked: dict[int, LockedSession]
) -> None:
    """Deliver each message, or record in the sender's session why it was not delivered."""
    by_slug = {home.agent.slug: home for home in locked.values() if home.is_home}
    hops = inbox.hops_of(run) + 1 if mails else 0
    for place, mail in enumerate(mails):
        home = by_slug.get(mail.to_slug)
        if home is None or home.state == SessionState.ENDED:
            _record_lost(session, run, mail, "there is no such agent")
        elif why := _why_undeliverable(session, home, mail, hops):
            _record_lost(session, run, mail, why)
        else:
            _deliver(session, run, mail, home, hops=hops, place=place)


def _why_undeliverable(session: Session, home: Session, mail: Mail, hops: int) -> str:
    if home.agent_id == session.agent_id:
        return "an agent does not write to itself"
    if hops > inbox.MAX_HOPS:
        return f"it went through {inbox.MAX_HOPS} agents already"
    if is_blank(mail.text):
        return "it says nothing"
    if len(mail.text) > MAIL_LIMIT:
        return f"it has {len(mail.text)} characters; the limit is {MAIL_LIMIT}"
    return ""


def _deliver(
    session: LockedSession, run: Run, mail: Mail, home: LockedSession, *, hops: int, place: int
) -> None:
    author = actors.agent(session.agent)
    inbox.enqueue_item(
        home,
        InboxKind.MAIL,
        author=author,
        body=mail.text,
        hops=hops,
        source_key=f"mail:{run.pk}:{place}",
    )
    record_event(home, "mail", actor=author, text=mail.text, data={"hops": hops})
    record_event(
        session, "mail_sent", actor=author, run=run, text=mail.text, data={"to": mail.to_slug}
    )
    wakes.wake_session(home, Cause.MAIL)
    next_run.queue_next_run(home)


def _record_lost(session: LockedSession, run: Run, mail: Mail, why: str) -> None:
    record_event(
        session,
        "mail_lost",
        actor="system",
        run=run,
        text=f"Not delivered to @{mail.to_slug}: {why}.",
        data={"to": mail.to_slug},
    )
