"""What a page gets over HTTP when it has no socket: the same as over one."""

from __future__ import annotations

from collections.abc import Iterable

from agents import events
from agents.models import Session
from workspace.pages import parts


def events_after(session: Session, cursor: int) -> str:
    """The events of a session above the cursor as one message; empty when there are none."""
    return parts.events_html(events.after(session.pk, cursor))


def thread_html(items: Iterable[str]) -> str:
    """The same message from items that are rendered already (`parts.event_html`)."""
    return f'<ol id="stream" hx-swap-oob="beforeend">{"".join(items)}</ol>'
