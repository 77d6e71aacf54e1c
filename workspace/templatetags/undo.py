"""The toast of a message that a plain form left for the next page."""

from __future__ import annotations

from django import template
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from workspace.pages.cards import undo_facts
from workspace.text.markdown import assembled

register = template.Library()

#: Begins the tag of a message about a verdict that can be taken back; the verdict's id follows.
VERDICT = "verdict-"


@register.simple_tag(takes_context=True)
def message_toast(context: template.Context, message: Message) -> SafeString:
    """Render a message. If it is about a verdict that can be taken back, offer that."""
    request: HttpRequest = context["request"]
    facts: dict[str, object] = {"words": message, "refused": message.level_tag == "error"}
    _tag, found, number = (message.extra_tags or "").partition(VERDICT)
    if found and request.user.is_authenticated:
        facts["undo"] = undo_facts.undo_of_verdict(request, request.user, int(number))
    return assembled(render_to_string("parts/toast.html", facts))
