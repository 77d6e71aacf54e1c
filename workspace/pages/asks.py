"""One ask: its page, answering it, withdrawing it.

A form sent by htmx gets the one card back, with the badge and a toast; a plain form gets a redirect
with a message, or a whole page that says why not. A refusal has the status that every door gives it
and keeps what was typed.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from agents.lifecycle import AgentState, SessionState
from agents.models import Session
from asks import access, queue
from asks.answering import Answered
from asks.answering import answer as give_answer
from asks.lifecycle import AskStatus, Reason
from asks.models import Ask
from asks.refusals import Refused
from asks.withdrawing import withdraw as take_back
from workspace.pages import cards, parts
from workspace.pages.card_facts import facts_of, with_past
from workspace.pages.requests import BINDING_FIELDS, OwnerRequest, show
from workspace.visible import visible_line


@dataclass(frozen=True)
class Posted:
    """What an answer's form holds."""

    option: str
    text: str
    echo: dict[str, str] | None
    confirmed: str
    back: bool

    @classmethod
    def of(cls, form: QueryDict) -> Posted:
        """`send` says that words were sent: pressing it with none never becomes an option."""
        options = [] if "send" in form else form.getlist("option")
        echo = {name: str(form[name]) for name in BINDING_FIELDS if form.get(name)}
        return cls(
            option="\n".join(options),  # two at once are none that was offered
            text=form.get("text", ""),
            echo=echo or None,
            confirmed=form.get("confirmed", ""),
            back="back" in form,
        )


@require_safe
def ask(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """GET /asks/<id>/: the ask alone, open or over."""
    found = _find(request.user, ask_id)
    return _page(request, found, _card(request, found))


@require_http_methods(["GET", "HEAD", "POST"])
def answer(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/answer: option or text, and the binding's fields as they were shown."""
    if request.method != "POST":
        return redirect("ask", ask_id)
    posted = Posted.of(request.POST)
    pause = _first_press(request, ask_id, posted)
    if pause is not None:
        return pause
    result = give_answer(
        ask_id=ask_id, by=request.user, option=posted.option, text=posted.text, echo=posted.echo
    )
    if isinstance(result, Answered):
        found = _find(request.user, ask_id)
        return _done(request, found, _recorded(found, repeated=result.repeated))
    return _refused(request, result, typed=posted.text)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/withdraw: takes the question back, with a reason."""
    if request.method != "POST":
        return redirect("ask", ask_id)
    reason = request.POST.get("reason", "")
    result = take_back(ask_id=ask_id, by=request.user, reason=reason)
    if isinstance(result, Refused):
        return _refused(request, result, withdraw_typed=reason)
    found = _find(request.user, ask_id)
    return _done(
        request, found, f"The question of {found.agent.slug} is taken back. Nothing was approved."
    )


def _find(person: User, ask_id: int) -> Ask:
    mine = access.asks_of(person).filter(pk=ask_id)
    found = with_past(queue.with_card_facts(mine)).first()
    if found is None:
        raise Http404
    return found


def _first_press(request: OwnerRequest, ask_id: int, posted: Posted) -> HttpResponse | None:
    """A destructive answer is asked for twice, and the second press names the same option."""
    mine = access.asks_of(request.user).filter(pk=ask_id, status=AskStatus.OPEN)
    found = with_past(queue.with_card_facts(mine)).first()
    if found is None or found.money_critical:
        return None
    facts = facts_of(found)
    option = facts.option(posted.option)
    if posted.back:
        state = cards.CardState(typed=posted.text)
    elif option is not None and option.is_danger and posted.confirmed != option.key:
        state = cards.CardState(typed=posted.text, confirming=option)
    else:
        return None
    return _respond(request, found, cards.ask_card(facts, csrf=get_token(request), state=state))


def _refused(
    request: OwnerRequest, refused: Refused, *, typed: str = "", withdraw_typed: str = ""
) -> HttpResponse:
    """The card again, with why and with what was typed.

    If it was asked anew meanwhile, the new card.
    """
    if refused.ask is None or refused.reason == Reason.NOT_FOUND:
        raise Http404
    fresh = refused.replaced_by
    found = _find(request.user, (fresh or refused.ask).pk)
    state = cards.CardState(
        refused=refused.detail,
        words_are_wrong=refused.reason in {Reason.EMPTY, Reason.INVALID} and not withdraw_typed,
        typed=typed.replace("\x00", "\ufffd"),
        withdraw_typed=withdraw_typed,
        replaces=refused.ask.pk if fresh else None,
    )
    card = _card(request, found, state)
    return _respond(request, found, card, status=refused.http_status)


def _card(request: OwnerRequest, found: Ask, state: cards.CardState | None = None) -> str:
    if found.status == AskStatus.OPEN:
        return cards.ask_card(facts_of(found), csrf=get_token(request), state=state)
    return cards.settled_card(found, state=state)


def _done(request: OwnerRequest, found: Ask, words: str) -> HttpResponse:
    if not request.htmx:
        messages.success(request, words)
        return redirect("needs_you")
    card = cards.settled_card(found, mine=True)
    session = found.session
    extra = parts.badge_html(queue.badge(request.user)) + parts.toast_html(
        words, href=f"/sessions/{session.pk}/", link="Open session"
    )
    return HttpResponse(card + extra)


def _respond(request: OwnerRequest, found: Ask, card: str, *, status: int = 200) -> HttpResponse:
    if not request.htmx:
        return _page(request, found, card, status=status)
    response = HttpResponse(card, status=status)
    response["X-Card"] = str(found.pk)  # tells the page to show it although it is no success
    return response


def _page(request: OwnerRequest, found: Ask, card: str, *, status: int = 200) -> HttpResponse:
    return show(request, "ask", "needs_you", status=status, ask=found, card=card)


def _recorded(found: Ask, *, repeated: bool) -> str:
    verdict = found.verdict
    said = visible_line(verdict.option_label or verdict.text)[:80]
    start = "Recorded already" if repeated else "Recorded"
    return f"{start}: {said}. {_what_follows(found.session, found)}"


def _what_follows(session: Session, found: Ask) -> str:
    """What an answer sets going, in a sentence that is true now."""
    slug = found.agent.slug
    if found.run.open_asks:
        return f"{slug} goes on once its other questions are answered too."
    if session.state == SessionState.PAUSED or found.agent.lifecycle == AgentState.PAUSED:
        return f"{slug} is paused and reads it when you resume it."
    if session.state == SessionState.ENDED or found.agent.lifecycle == AgentState.RETIRED:
        return f"{slug} is retired and starts no more turns."
    return f"{slug} goes on."
