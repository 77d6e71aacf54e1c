"""What the tests of answering share: sending an answer, reading the card that comes back."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.test import Client

from agents.models import InboxItem, Run
from asks.models import Ask, Verdict
from tests.pages.html import Element, read

HTMX = {"HX-Request": "true"}


def post(client: Client, ask: Ask, htmx: bool = True, /, **fields: Any) -> HttpResponse:  # noqa: FBT002
    headers = HTMX if htmx else {}
    return client.post(f"/asks/{ask.pk}/answer", fields, headers=headers)  # type: ignore[return-value]


def card(response: Any, ask: Ask) -> Element:
    return read(response.content).one("article", id=f"ask-{ask.pk}")


def assert_untouched(ask: Ask) -> None:
    """Still open, and nothing was woken."""
    ask.refresh_from_db()
    assert ask.status == "open"
    assert not Verdict.objects.filter(ask=ask).exists()
    assert not InboxItem.objects.filter(session=ask.session_id).exists()
    assert Run.objects.filter(session=ask.session_id).count() == 1
