"""Take an answer back while it has not taken effect, or let it take effect now.

A form sent by htmx gets a toast, the badge and the card in its present state, which undo.js puts into
its place. A plain form gets a page.
"""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from asks import access
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask
from asks.queue import queries
from asks.refusals import Refused
from asks.undo.retracting import Retracted, StartedNow, pressed_words, retract_verdict, start_now
from workspace.pages import asks, fragments
from workspace.pages.cards import markup, proposals
from workspace.pages.cards.edit_form import EditField
from workspace.pages.cards.facts import gate_facts
from workspace.pages.owner_request import OwnerRequest
from workspace.text.visible import visible_line


@require_http_methods(["GET", "HEAD", "POST"])
def post_take_back(request: OwnerRequest, verdict_id: int) -> HttpResponse:
    """POST /verdicts/<id>/take-back: take the answer back. Its question is open again."""
    if request.method != "POST":
        return redirect("needs_you")
    result = retract_verdict(verdict_id=verdict_id, by=request.user)
    if isinstance(result, Refused):
        return _refused(request, result)
    words = _("You took back {answer}. Nothing was started.")
    answer = visible_line(pressed_words(result.window))[:80]
    return _show(request, result.ask, words.format(answer=answer), taken=result)


@require_http_methods(["GET", "HEAD", "POST"])
def post_start_now(request: OwnerRequest, verdict_id: int) -> HttpResponse:
    """POST /verdicts/<id>/start-now: let the answer take effect at once."""
    if request.method != "POST":
        return redirect("needs_you")
    result = start_now(verdict_id=verdict_id, by=request.user)
    if isinstance(result, Refused):
        return _refused(request, result)
    return _show(request, result.ask, _started(result))


def _started(result: StartedNow) -> str:
    slug = result.ask.session.agent.slug
    result.ask.refresh_from_db(fields=["session"])
    if result.ask.session.held_until is not None:
        return _("{agent} starts when your other answers take effect.").format(agent=slug)
    return asks.what_follows(result.ask.session, result.ask)


def _refused(request: OwnerRequest, refused: Refused) -> HttpResponse:
    if refused.ask is None or refused.reason == Reason.NOT_FOUND:
        raise Http404
    return _show(request, refused.ask, refused.detail, status=refused.http_status)


def _show(
    request: OwnerRequest,
    ask: Ask,
    words: str,
    *,
    taken: Retracted | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the ask as it is now, with what happened. The reader may have lost the right to see it."""
    visible = access.asks_of(request.user).filter(pk=ask.pk).exists()
    if not request.htmx:
        (messages.success if status < 400 else messages.error)(request, words)
        if not visible or taken is None:
            return redirect("ask", ask.pk) if visible else redirect("needs_you")
        return asks.show_page(request, ask.pk, lambda shown: _card(request, shown, taken))
    toast = fragments.toast_html(words, refused=status >= 400)
    card = ""
    if visible:
        shown = asks.find_ask(request.user, ask.pk)
        card = f'<template data-card-now="ask-{ask.pk}">{_card(request, shown, taken)}</template>'
    badge = fragments.badge_html(queries.count_badge(request.user))
    response = HttpResponse(f"{card}{badge}{toast}", status=status)
    response["X-Card"] = str(ask.pk)  # tells the page to use it although it is no success
    return response


def _card(request: OwnerRequest, shown: Ask, taken: Retracted | None) -> str:
    """Render the card; after a retraction, with what was typed."""
    if taken is None or shown.status != AskStatus.OPEN:
        return asks.card_of(request, shown)
    verdict = taken.window.verdict
    fields: tuple[EditField, ...] = ()
    if verdict.edit:
        whole = json.dumps(verdict.edit["edited"])
        proposal = proposals.proposal_of(request.user, shown.pk, option="", typed={}, whole=whole)
        gate = gate_facts(shown)
        fields = proposal.fields(gate) if proposal and gate else ()
    text = taken.window.vote.text if taken.window.vote else verdict.text
    return asks.card_of(request, shown, markup.CardState(typed=text, fields=fields))
