"""The run chain and the live grants of a session, wherever a page shows its head."""

from __future__ import annotations

from django import template

from agents.models import Session
from asks.models import Grant
from workspace.pages.authority.grants import live_facts
from workspace.pages.run_chain import ChainFacts, chain_of

register = template.Library()


@register.inclusion_tag("parts/run_chain.html")
def run_chain(session: Session) -> dict[str, ChainFacts | None]:
    """What the turns of a session cost, each and together; nothing when none of them tells."""
    return {"chain": chain_of(session)}


@register.inclusion_tag("parts/live_grants.html")
def live_grants(session: Session, csrf: str) -> dict[str, object]:
    """What a session may do once, each with a button that takes it back."""
    return {"grants": live_facts(Grant.objects.filter(session=session)), "csrf": csrf}


@register.filter
def usd(amount: float) -> str:
    """`0.40 USD`; what is smaller than a cent is not shown as nothing."""
    return f"{amount:.2f} USD" if amount >= 0.005 or not amount else f"{amount:.6f} USD"
