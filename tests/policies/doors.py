"""The ways in: each tries to answer an ask as somebody, and tells how it was refused, if it was."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from asks.models import Ask, Refusal, SignedFile
from asks.signed_channel import decision_files
from tests.api.calling import Caller
from tests.channel.signing import Channel, shown
from workspace.accounts import api_keys

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Tried:
    """What came back: an HTTP status where there is one, and the reason that was recorded."""

    status: int
    reason: str


def page(ask: Ask, by: User, *, option: str = "approve", text: str = "") -> Tried:
    client = Client()
    client.force_login(by)
    seen = _last_refusal()
    fields = {**_echo(ask), "option": option, "text": text, "confirmed": option}
    response = client.post(f"/asks/{ask.pk}/answer", fields, headers={"HX-Request": "true"})
    return Tried(response.status_code, _reason_since(seen))


def api(ask: Ask, by: User, *, option: str = "approve", text: str = "") -> Tried:
    _, token = api_keys.create_key(name=f"door-{next(_numbers)}", scopes=("ask:answer",), person=by)
    seen = _last_refusal()
    body = {"option": option, "text": text, "binding": _echo(ask)}
    said = Caller(token).post(f"/api/asks/{ask.pk}/answer", body)
    return Tried(said.status, _reason_since(seen))


def admin(ask: Ask, by: User, *, option: str = "approve", text: str = "") -> Tried:
    """A superuser, who may do anything that the admin can do, tries its forms and actions."""
    User.objects.filter(pk=by.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=by.pk))
    seen = _last_refusal()
    fields = {
        "ask": ask.pk,
        "decided_by": by.pk,
        "option_label": option,
        "text": text,
        "status": "answered",
    }
    tried = [
        client.post("/admin/asks/verdict/add/", fields),
        client.post("/admin/asks/vote/add/", fields),
        client.post("/admin/asks/grant/add/", fields),
        client.post(f"/admin/asks/ask/{ask.pk}/change/", fields),
    ]
    client.post("/admin/asks/ask/", {"action": "approve", "_selected_action": [ask.pk]})
    return Tried(max(answer.status_code for answer in tried), _reason_since(seen))


def signed(channel: Channel) -> Callable[..., Tried]:
    """The signed channel, in which everybody may sign; it is for money-critical asks only."""

    for name in ("olga", "carl", "sam"):
        channel.allow(name)

    def try_it(ask: Ask, by: User, *, option: str = "approve", text: str = "") -> Tried:
        del text  # a signature carries no words
        name = by.get_username()
        channel.put(f"{next(_numbers)}.json", shown(ask, option), signer=name)
        seen = _last_refusal()
        decision_files.scan_folder()
        assert SignedFile.objects.exists()
        return Tried(0, _reason_since(seen))

    return try_it


def agents_key(ask: Ask, *, option: str = "approve") -> Tried:
    """The agent's own key, with all that such a key may hold."""
    scopes = ("run:create", "run:read", "ask:create")
    _, token = api_keys.create_key(name=f"door-{next(_numbers)}", scopes=scopes, agent=ask.agent)
    seen = _last_refusal()
    said = Caller(token).post(
        f"/api/asks/{ask.pk}/answer", {"option": option, "binding": _echo(ask)}
    )
    return Tried(said.status, _reason_since(seen))


def _echo(ask: Ask) -> dict[str, Any]:
    from asks.actions import binding

    return binding.shown_binding(ask.gate).as_echo()


def _last_refusal() -> int:
    last = Refusal.objects.order_by("-pk").first()
    return last.pk if last else 0


def _reason_since(seen: int) -> str:
    found = Refusal.objects.filter(pk__gt=seen).order_by("-pk").first()
    return str(found.reason) if found else ""
