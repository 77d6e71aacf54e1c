"""Filters and tags of the pages: agents' words made harmless, ages, pills, icons, the badge."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache

from django import template
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from agents.lifecycle import Cause, Outcome, RunStatus
from agents.models import Event
from agents.text import key_order
from asks.actions.difference import Piece
from asks.models import Verdict
from asks.policies.wording import WordingPart
from workspace.health.banner import banner_of_page
from workspace.health.look import recent_health
from workspace.pages.cards.call_rows import CallRow, rows_of
from workspace.pages.cards.headline import pressed_words
from workspace.pages.standing import standing_of
from workspace.text import markdown, visible
from workspace.text.line_diff import LineGroup

register = template.Library()

#: How an event's node looks in a thread, by its kind (`thread.css`).
NODES = {
    "output": "output",
    "step": "tool",
    "asked": "asked",
    **dict.fromkeys(("verdict", "pressed", "retracted", "message", "withdrawn"), "person"),
    **dict.fromkeys(("report", "summary"), "ok"),
    **dict.fromkeys(("error", "refused", "mail_lost"), "bad"),
}

#: The partial in `templates/events/` that draws an event, by its kind. `noted` is never drawn.
EVENT_PARTIALS = {
    **{
        kind: kind for kind in ("started", "output", "step", "report", "notice", "usage", "ignored")
    },
    **{kind: kind for kind in ("summary", "error", "ended", "asked", "verdict", "refused")},
    **{kind: kind for kind in ("withdrawn", "pressed", "retracted")},
    **dict.fromkeys(("expired", "superseded"), "closed"),
    **dict.fromkeys(("message", "mail"), "message"),
    **dict.fromkeys(("mail_sent", "mail_lost", "state"), "plain"),
    "grant_ended": "grant_ended",
}

#: Draws the text of an event whose kind is not in the table.
UNKNOWN_KIND = "plain"

#: Characters and lines beyond which a value of a call is folded.
LONG = 600
LONG_LINES = 12

register.filter("visible", visible.visible)
register.filter("visible_line", visible.visible_line)
register.filter("plain_line", markdown.plain_line)
register.filter("pressed_words", pressed_words)
register.filter("stored", markdown.stored)
register.filter("plain", markdown.plain_text)


@register.filter
def shown(value: str) -> str:
    """A value that an action is bound to: whole, every character visible, blank lines counted."""
    return visible.fold_blank_lines(visible.visible(value))


@register.filter
def code_spans(text: str) -> SafeString:
    """A sentence of ours that names an action between backticks, with the action as code."""
    before, _, rest = text.partition("`")
    action, found, after = rest.rpartition("`")
    if not found:
        return format_html("{}", shown(text))
    return format_html("{}<code>{}</code>{}", before, shown(action), after)


@register.filter
def folded(value: str) -> SafeString | str:
    """The same; one that is long behind a line of it that shows both its ends, all of it to unfold."""
    whole = shown(value)
    if len(whole) <= LONG and whole.count("\n") < LONG_LINES:
        return _with_its_end(whole)
    ends = visible.visible_line(whole[:120]), visible.visible_line(whole[-80:])
    count = gettext("all {count} characters").format(count=len(value))
    summary = "<summary>{} … {} <small>{}</small></summary>"
    fold = f'<details class="long" data-fold>{summary}<div>{{}}</div></details>'
    return format_html(fold, *ends, count, _with_its_end(whole))


def _with_its_end(text: str) -> SafeString | str:
    """Return a text and, since nobody sees them, the line breaks at its end in words."""
    breaks = len(text) - len(text.rstrip("\n"))
    if not breaks:
        return text
    words = ngettext("ends with a line break", "ends with {count} line breaks", breaks).format(
        count=breaks
    )
    return format_html("{}<small> {}</small>", text.rstrip("\n"), words)


@register.simple_tag
def changed_text(pieces: Iterable[Piece]) -> SafeString:
    """Return a changed text with its old and new parts marked. It adds no white space."""
    return markdown.assembled("".join(_changed_piece(piece) for piece in pieces))


@register.simple_tag
def headline_text(parts: Iterable[WordingPart]) -> SafeString:
    """Return a headline in which every value is set apart from the words around it."""
    return markdown.assembled("".join(_headline_part(part) for part in parts))


def _headline_part(part: WordingPart) -> str:
    text = " ".join(visible.visible(f"({part.text})").split())[1:-1]
    return format_html("<bdi>{}</bdi>", text) if part.is_value else escape(text)


@register.simple_tag
def diff_lines(groups: Iterable[LineGroup]) -> SafeString:
    """Return the lines of a block. It adds no white space: theirs is shown."""
    return markdown.assembled(f'<div class="lines">{"".join(map(_diff_group, groups))}</div>')


def _diff_group(group: LineGroup) -> str:
    parts = [
        _side("d-old", "del", "-", gettext("removed:"), group.old),
        _side("d-new", "ins", "+", gettext("added:"), group.new),
        _side("d-same", "span", "", "", group.same),
        _side("d-note", "span", "", "", group.note),
    ]
    return "".join(parts)


def _side(name: str, tag: str, sign: str, words: str, lines: tuple[SafeString, ...]) -> str:
    """Return the lines of one side; its words stand before the first one for screen readers."""
    if not lines:
        return ""
    spoken = f'<span class="sr">{escape(words)} </span>' if words else ""
    start = f'<i class="sg" aria-hidden="true">{sign}</i>' if sign else ""
    body = "\n".join(f"{start}{line}" for line in lines)
    return f'<{tag} class="{name}">{spoken}{body}</{tag}>'


def _changed_piece(piece: Piece) -> str:
    text = shown(piece.text)
    if piece.sign == "-":
        return format_html('<del><span class="sr">{} </span>{}</del>', gettext("before:"), text)
    if piece.sign == "+":
        return format_html('<ins><span class="sr">{} </span>{}</ins>', gettext("now:"), text)
    return escape(text)


@register.filter
def edited_rows(verdict: Verdict) -> list[CallRow]:
    """What a verdict keeps of a changed call, as rows in the order of the call."""
    order = verdict.ask.gate.params_order
    edit = verdict.edit or {}
    edited, original = (
        key_order.in_order(edit.get(which), order) for which in ("edited", "original")
    )
    return rows_of(edited, original)


def age_in_words(age: timedelta) -> str:
    """`under 1 min`, `41 min`, `2 h 14 min`, `3 d 4 h`. `ages.js` keeps the same scale."""
    seconds = int(age.total_seconds())
    if seconds < 60:
        return "under 1 min"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 86400:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min"
    return f"{seconds // 86400} d {seconds % 86400 // 3600} h"


@register.filter
def age(since: datetime | None) -> str:
    """How long ago, in words; a dash when nobody knows."""
    return age_in_words(timezone.now() - since) if since else "—"


@register.simple_tag
def ago(since: datetime | None, words: str = "") -> SafeString | str:
    """A <time> that scripts keep true while the page is open.

    `words` saves working them out again.
    """
    if since is None:
        return "—"
    return format_html(
        '<time datetime="{}" data-age>{}</time>', since.isoformat(), words or age(since)
    )


@register.simple_tag
def clock(moment: datetime | None) -> SafeString | str:
    """A <time> in the server's time zone, which scripts turn into the reader's own."""
    if moment is None:
        return "—"
    local = timezone.localtime(moment)
    today = local.date() == timezone.localdate()
    words = local.strftime("%H:%M") if today else local.strftime("%-d %b %H:%M")
    return format_html('<time datetime="{}" data-clock>{}</time>', moment.isoformat(), words)


@register.filter
def initials(name: str) -> str:
    """Two letters for an avatar: of the first two words, or of the only one."""
    parts = [part for part in name.replace("_", "-").replace(" ", "-").split("-") if part]
    letters = parts[0][0] + parts[1][0] if len(parts) > 1 else name[:2]
    return visible.visible_line(letters)[:2]


register.filter("standing", standing_of)


@register.simple_tag
@cache
def icon(name: str, size: int = 16) -> SafeString:
    """An icon of the sprite, hidden from screen readers: the words beside it say what it means."""
    return format_html(
        '<svg width="{}" height="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        size,
        size,
        static("img/icons.svg"),
        name,
    )


@register.simple_tag
@cache
def head_links() -> SafeString:
    """The style sheets and what else every page's head names: the same for all, so made once."""
    return markdown.assembled(render_to_string("parts/assets.html"))


@register.simple_tag
def health_banner() -> SafeString:
    """What is wrong with this workspace; an empty place if nothing is."""
    return banner_of_page(recent_health())


@register.simple_tag(takes_context=True)
def waiting_count(context: template.Context) -> int:
    """How many cards wait on the reader: the page's own count, or else asked once per page."""
    if "badge" not in context:
        from asks.queue import queries

        request: HttpRequest = context["request"]
        context.dicts[0]["badge"] = (
            queries.count_badge(request.user) if request.user.is_authenticated else 0
        )
    count: int = context["badge"]
    return count


@register.filter
def scripts(names: str) -> list[str]:
    """`live queue` as paths of static files, in that order."""
    return [f"js/{name}.js" for name in names.split()]


@register.filter
def styles(names: str) -> list[str]:
    """`tokens base` as paths of static files, in that order."""
    return [f"css/{name}.css" for name in names.split()]


@register.filter
def actor(name: str) -> str:
    """`human:ann` and `agent:ledger` without what they are; `system` in words."""
    bare = name.partition(":")[2] or name
    return "The workspace" if bare == "system" else visible.visible_line(bare)


@register.filter
def cause_words(cause: str) -> str:
    """Why a run started: `a person`, `its schedule`."""
    label = str(Cause(cause).label) if cause in Cause.values else cause
    return label[:1].lower() + label[1:]


@register.filter
def outcome_words(outcome: str) -> str:
    return str(Outcome(outcome).label).lower() if outcome in Outcome.values else outcome


@register.filter
def ask_link(ask_id: object) -> SafeString | str:
    """`a question`, which leads to its page."""
    if not isinstance(ask_id, int):
        return "a question"
    return format_html('<a href="{}">a question</a>', reverse("ask", args=[ask_id]))


@register.filter
def usage_words(data: dict[str, object]) -> str:
    """What a turn used: `input tokens 1200, output tokens 80`."""
    numbers = {name: value for name, value in data.items() if isinstance(value, int | float)}
    return "Used " + ", ".join(
        f"{name.replace('_', ' ')} {value}" for name, value in numbers.items()
    )


@register.filter
def command_line(words: list[str]) -> str:
    """An argument list as it would be typed."""
    return shlex.join(str(word) for word in words)


@register.filter
def node(event: Event) -> str:
    """The look of an event in its thread. `rest` is where a session stands parked."""
    if event.kind == "ended" and event.data.get("status") == RunStatus.WAITING_HUMAN:
        return "rest"
    return NODES.get(event.kind, "")


@register.filter
def event_partial(event: Event) -> str:
    """The template that draws what happened in an event."""
    return f"events/_{EVENT_PARTIALS.get(event.kind, UNKNOWN_KIND)}.html"
