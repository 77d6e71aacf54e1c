"""One ask: its page, answering it, withdrawing it.

A form sent by htmx gets the one card back, with the badge and a toast; a plain form gets a redirect
with a message, or a whole page that says why not. A refusal has the status that every door gives it
and keeps what was typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from agents.lifecycle import AgentState, SessionState
from agents.models import Session
from asks import access
from asks.answering import Answered, Voted, answer_ask
from asks.lifecycle import AskStatus, Meaning, Reason, Style
from asks.models import Ask, Option
from asks.policies import terms
from asks.queue import queries
from asks.queue.earlier_answers import earlier_answers
from asks.refusals import Refused
from asks.withdrawing import withdraw_ask
from workspace.accounts.undo_preference import undo_window_of
from workspace.health.look import recent_health
from workspace.pages import fragments
from workspace.pages.account import reauthentication
from workspace.pages.cards import edit_form, markup, proposals, waiting
from workspace.pages.cards.edit_form import PREFIX
from workspace.pages.cards.facts import (
    OptionFacts,
    facts_of,
    gate_facts,
    options_of,
    with_past,
)
from workspace.pages.cards.headline import pressed_words
from workspace.pages.cards.proposals import AnswerProposal
from workspace.pages.cards.rules import with_votes
from workspace.pages.cards.undo_facts import UndoFacts, undo_of
from workspace.pages.owner_request import BINDING_FIELDS, OwnerRequest, render_page
from workspace.templatetags.undo import VERDICT
from workspace.text.visible import visible_line

WORDS_ARE_WRONG = frozenset({Reason.EMPTY, Reason.INVALID, Reason.REASON_REQUIRED})


@dataclass(frozen=True)
class PostedAnswer:
    """The fields of a posted answer form."""

    option: str
    text: str
    echo: dict[str, str] | None
    confirmed: str
    back: bool
    fields: dict[str, str] = field(default_factory=dict)
    edited: str = ""
    is_whole: bool = True

    @classmethod
    def of(cls, form: QueryDict) -> PostedAnswer:
        """`send` means a text answer: pressing it with an empty text never becomes an option.

        `same` gives the answer to a stale card to the one in its place; it was confirmed there.
        `fields` are those of a changed call, `edited` is one that was looked at already, as JSON.
        `is_whole` means that the person had all of the action on the screen.
        """
        options = [] if "send" in form else form.getlist("option")
        same = form.get("same", "")
        options = [same] if same else options
        echo = {name: str(form[name]) for name in BINDING_FIELDS if form.get(name)}
        return cls(
            option="\n".join(options),  # two at once are none that was offered
            text=form.get("text", ""),
            echo=echo or None,
            confirmed=same or form.get("confirmed", ""),
            back="back" in form,
            fields={name: str(form[name]) for name in form if name.partition("/")[0] == PREFIX},
            edited=form.get("edited", ""),
            is_whole=form.get("whole", "1") == "1",
        )

    @property
    def is_over(self) -> bool:
        """Whether the answer was confirmed and needs no second press."""
        return bool(self.option) and self.confirmed == self.option


@require_safe
def show_ask(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """GET /asks/<id>/: show one ask, open or closed."""
    found = find_ask(request.user, ask_id)
    return _page(request, found, card_of(request, found))


@require_safe
def show_ask_changes(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """GET /asks/<id>/changes?have=ask-1.2: return changes to a page without a socket."""
    have = fragments.held_fragments(request.GET.get("have", ""))
    return HttpResponse(fragments.ask_changes(request.user, ask_id, have).html)


@require_http_methods(["GET", "HEAD", "POST"])
def post_answer(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/answer: record an option or a text, with the binding as it was shown."""
    if request.method != "POST":
        return redirect("ask", ask_id)
    posted = PostedAnswer.of(request.POST)
    proposal = _proposal(request, ask_id, posted)
    pause = _first_press(request, ask_id, posted, proposal)
    if pause is not None:
        return pause
    result = answer_ask(
        ask_id=ask_id,
        by=request.user,
        option=posted.option,
        text=posted.text,
        echo=posted.echo,
        authenticated_at=reauthentication.proved_at(request),
        edited=proposal.params if proposal else None,
        undo=undo_window_of(request.user),
    )
    if isinstance(result, Answered):
        found = find_ask(request.user, ask_id)
        undo = undo_of(request, request.user, found)
        words = _recorded(found, repeated=result.repeated, held=undo is not None)
        return show_outcome(request, found, words, undo=undo)
    if isinstance(result, Voted):
        return show_outcome(request, find_ask(request.user, ask_id), _voted(result))
    return refused_card(request, result, posted, proposal=proposal)


@require_http_methods(["GET", "HEAD", "POST"])
def post_withdrawal(request: OwnerRequest, ask_id: int) -> HttpResponse:
    """POST /asks/<id>/withdraw: withdraw the question, with a reason."""
    if request.method != "POST":
        return redirect("ask", ask_id)
    reason = request.POST.get("reason", "")
    result = withdraw_ask(ask_id=ask_id, by=request.user, reason=reason)
    if isinstance(result, Refused):
        return refused_card(request, result, withdraw_typed=reason)
    found = find_ask(request.user, ask_id)
    return show_outcome(
        request,
        found,
        _("You withdrew {agent}'s question. Nothing was approved.").format(agent=found.agent.slug),
    )


def find_ask(person: User, ask_id: int) -> Ask:
    """Return an ask that the reader may see, with everything its card shows. Raises Http404."""
    mine = access.asks_of(person).filter(pk=ask_id)
    found = with_past(queries.with_card_facts(mine)).first()
    if found is None:
        raise Http404
    return with_votes([found])[0]


def _proposal(request: OwnerRequest, ask_id: int, posted: PostedAnswer) -> AnswerProposal | None:
    """Return the edited call that the form proposes; None if it edits nothing."""
    option, typed, whole = posted.option, posted.fields, posted.edited
    return proposals.proposal_of(request.user, ask_id, option=option, typed=typed, whole=whole)


def _first_press(
    request: OwnerRequest, ask_id: int, posted: PostedAnswer, proposal: AnswerProposal | None
) -> HttpResponse | None:
    """Ask for a second press if the answer is destructive, edits the call or covers a folded text.

    The second press names the same option.
    """
    changes = proposal is not None and not posted.is_over and proposal.fits
    if proposal is not None and not proposal.fits and not posted.back:
        return None  # what does not fit is refused, with the fields named
    if not posted.back and not changes and not _wants_a_second_press(ask_id, posted):
        return None
    mine = access.asks_of(request.user).filter(pk=ask_id, status=AskStatus.OPEN)
    found = with_past(queries.with_card_facts(mine)).first()
    if found is None or found.money_critical:
        return None
    facts = facts_of(found)
    option = facts.option(posted.option)
    if posted.back:
        fields = proposal.fields(proposal.gate) if proposal else ()
        state = markup.CardState(typed=posted.text, fields=fields)
    elif option is not None:
        change = proposal.change() if proposal and changes else None
        if proposal and change:
            offered = options_of(found, facts.rules, proposal.params)
            option = next(one for one in offered if one.key == option.key)
        state = markup.CardState(typed=posted.text, confirming=option, change=change)
    else:
        return None
    card = markup.ask_card(
        facts, csrf=get_token(request), state=state, earlier=_earlier_note(request.user, found)
    )
    return _respond(request, found, card)


def _wants_a_second_press(ask_id: int, posted: PostedAnswer) -> bool:
    """Whether the option is destructive, or approves an action of which a part was never shown.

    One query: most answers need nothing else here.
    """
    if not posted.option or "\x00" in posted.option or (posted.is_over and posted.is_whole):
        return False
    offered = Option.objects.select_related("ask").filter(ask=ask_id, key=posted.option).first()
    if offered is None:
        return False
    dangerous = (
        not posted.is_over and terms.style_of(offered, terms.terms_of(offered.ask)) == Style.DANGER
    )
    return dangerous or (not posted.is_whole and offered.meaning != Meaning.DENY)


def refused_card(
    request: OwnerRequest,
    refused: Refused,
    posted: PostedAnswer | None = None,
    *,
    withdraw_typed: str = "",
    proposal: AnswerProposal | None = None,
) -> HttpResponse:
    """Render the card again, with the reason of the refusal and what was typed.

    If the question was asked again meanwhile, render the new card, with one press for the same answer.
    """
    if refused.ask is None or refused.reason == Reason.NOT_FOUND:
        raise Http404
    fresh = refused.replaced_by
    found = find_ask(request.user, (fresh or refused.ask).pk)
    typed = posted.text.replace("\x00", "\ufffd") if posted else ""
    unexplained = posted is not None and refused.reason == Reason.REASON_REQUIRED
    state = markup.CardState(
        refused=refused.detail,
        words_are_wrong=refused.reason in WORDS_ARE_WRONG and not withdraw_typed,
        typed=typed,
        withdraw_typed=withdraw_typed,
        replaces=refused.ask.pk if fresh else None,
        same=_same_again(found, posted) if fresh and posted and not proposal else None,
        confirming=facts_of(found).option(posted.option) if posted and unexplained else None,
        prove=refused.reason == Reason.REAUTHENTICATE,
        again=get_token(request),
        fields=_fields_again(found, proposal, refused),
    )
    card = card_of(request, found, state)
    return _respond(request, found, card, status=refused.http_status)


def _fields_again(
    found: Ask, proposal: AnswerProposal | None, refused: Refused
) -> tuple[edit_form.EditField, ...]:
    """Return the edited call as it was typed, if the card shown now can be edited."""
    gate = gate_facts(found)
    if proposal is None or gate is None or not proposals.fields_of(found, gate):
        return ()
    return proposal.fields(gate, refused.flaws)


def _same_again(fresh: Ask, posted: PostedAnswer) -> OptionFacts | None:
    """Return the chosen option if the new ask still offers it with the same label."""
    option, before = facts_of(fresh).option(posted.option), getattr(fresh, "supersedes", None)
    if option is None or before is None:
        return None
    was = before.options.filter(key=posted.option).values_list("label", flat=True).first()
    own = next(one.label for one in fresh.options.all() if one.key == option.key)
    return option if was == own else None


def card_of(request: OwnerRequest, found: Ask, state: markup.CardState | None = None) -> str:
    """Render the card of an ask in its present state for this reader."""
    if found.status != AskStatus.OPEN:
        state = state or markup.CardState(again=get_token(request))
        undo = undo_of(request, request.user, found)
        return markup.settled_card(found, state=state, undo=undo)
    standing = access.rights_of(request.user, found)
    if why := waiting.why_not(request.user, found, standing):
        state = replace(state or markup.CardState(), may_not=why)
    return markup.ask_card(
        facts_of(found),
        csrf=get_token(request),
        state=state,
        name=_name_note(request.user, standing),
        earlier=_earlier_note(request.user, found),
    )


def _name_note(person: User, standing: access.Rights) -> SafeString:
    """Render in whose name the reader answers; empty for their own."""
    if not standing.names or person.pk in standing.names:
        return markup.name_note(None, None)
    delegations = access.delegations_to(person).filter(delegator__in=standing.names)
    first = delegations.order_by("pk").values_list("delegator__username", "ends_at").first()
    return markup.name_note(*(first or (None, None)))


def _earlier_note(person: User, found: Ask) -> SafeString:
    """Render what the reader answered to the same question before."""
    question = (found.agent_id, found.likeness)
    return markup.earlier_note(earlier_answers(person, [found.pk]).get(question), found.likeness)


def show_outcome(
    request: OwnerRequest, found: Ask, words: str, *, undo: UndoFacts | None = None
) -> HttpResponse:
    if not request.htmx:
        messages.success(request, words, f"{VERDICT}{undo.verdict_id}" if undo else "")
        return redirect("needs_you")
    missing = waiting.what_is_missing(request.user, found)
    card = markup.settled_card(found, mine=True, undo=undo, missing=missing)
    session = found.session
    extra = fragments.badge_html(queries.count_badge(request.user)) + fragments.toast_html(
        words, href=f"/sessions/{session.pk}/", link=_("Open session"), undo=undo
    )
    return HttpResponse(card + extra)


def show_page(request: OwnerRequest, ask_id: int, card: Callable[[Ask], str]) -> HttpResponse:
    """Render the page of an ask with a card of its own."""
    found = find_ask(request.user, ask_id)
    return _page(request, found, card(found))


def _respond(request: OwnerRequest, found: Ask, card: str, *, status: int = 200) -> HttpResponse:
    if not request.htmx:
        return _page(request, found, card, status=status)
    response = HttpResponse(card, status=status)
    response["X-Card"] = str(found.pk)  # tells the page to show it although it is no success
    return response


def _page(request: OwnerRequest, found: Ask, card: str, *, status: int = 200) -> HttpResponse:
    return render_page(request, "ask", "needs_you", status=status, ask=found, card=card)


def _voted(result: Voted) -> str:
    tally = result.tally
    vote = visible_line(result.vote.option_label)[:80]
    start = _("You voted {option} already.") if result.repeated else _("You voted {option}.")
    count = _("{approvals} of {needed} approve; it is not decided yet.")
    tallied = count.format(approvals=tally.approvals, needed=tally.needed)
    return f"{start.format(option=vote)} {tallied}"


def _recorded(found: Ask, *, repeated: bool, held: bool) -> str:
    verdict = found.decision
    text = visible_line(pressed_words(found) or verdict.option_label or verdict.text)[:80]
    answer = text if verdict.option_label else f"“{text}”"
    start = _("Recorded already: {answer}.") if repeated else _("Recorded: {answer}.")
    words = start.format(answer=answer)
    return words if held else f"{words} {what_follows(found.session, found)}"


def what_follows(session: Session, found: Ask) -> str:
    """Say in one sentence what the session does next."""
    slug = found.agent.slug
    if found.run.open_asks:
        return _("{agent} continues once its other questions are answered.").format(agent=slug)
    if session.state == SessionState.PAUSED or found.agent.lifecycle == AgentState.PAUSED:
        return _("{agent} is paused and reads it when you resume it.").format(agent=slug)
    if session.state == SessionState.ENDED or found.agent.lifecycle == AgentState.RETIRED:
        return _("{agent} is retired and starts no more turns.").format(agent=slug)
    if not recent_health().worker_is_alive:
        return _("{agent} continues when a worker runs.").format(agent=slug)
    return _("{agent} continues.").format(agent=slug)
