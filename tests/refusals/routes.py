"""The ways in that answer an ask: each asks in its own way, and takes what somebody hands in."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from asks.drafts import ActionDraft
from asks.models import Ask, SignedFile
from asks.signed_channel import decision_files
from tests.api.calling import Caller
from tests.channel.signing import NAMESPACE, Channel, shown
from tests.factories import REFUND
from tests.leaf.world import ITEM, Orchestrator
from tests.leaf.world import carry_all as carry_leaf
from tests.leaf.world import session_of as leaf_session_of
from tests.policies.world import asked
from tests.refusals.situations import Scene, Sent
from tests.responses import world as hybrid
from workspace.accounts import api_keys
from workspace.pages.account.reauthentication import KEY as PROVED_AT

_numbers = itertools.count(1)
PERSONS = ("run:create", "run:read", "ask:create", "ask:answer")
AGENTS = ("run:create", "run:read", "ask:create")


@dataclass(frozen=True)
class Said:
    """What came back: a status where there is one, and all that was said."""

    status: int
    words: str


@dataclass(frozen=True)
class Route:
    """``by`` None is the agent itself, with the key that it has for this way in."""

    operation: str
    ask: Callable[[Scene], Ask]
    hand_in: Callable[[Scene, Ask, Sent, User | None], Said]


def token_of(scene: Scene, by: User | None) -> str:
    name, agent = f"route-{next(_numbers)}", None if by else scene.agent
    scopes = PERSONS if by else AGENTS
    return api_keys.create_key(name=name, scopes=scopes, agent=agent, person=by)[1]


def _refund(scene: Scene) -> Ask:
    return asked(scene.session, REFUND)


def _page(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
    """A browser. Nobody ever proved who they are in it since; an agent has no sign-in at all."""
    del scene
    client = Client()
    if by is not None:
        client.force_login(by)
        session = client.session
        session.pop(PROVED_AT, None)
        session.save()
    fields = {**sent.binding_of(ask), "option": sent.option, "text": sent.text}
    if sent.edited is not None:
        fields["edited"] = json.dumps(sent.edited)
    fields["confirmed"] = sent.option
    number = sent.ask_id or ask.pk
    response = client.post(f"/asks/{number}/answer", fields, headers={"HX-Request": "true"})
    return Said(response.status_code, response.content.decode())


def _api(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
    body: dict[str, Any] = {"option": sent.option, "text": sent.text}
    if echo := sent.binding_of(ask):
        body["binding"] = echo
    if sent.edited is not None:
        body["edited"] = sent.edited
    caller = Caller(token_of(scene, by))
    said = caller.post(f"/api/asks/{sent.ask_id or ask.pk}/answer", body)
    return Said(said.status, said.json["detail"])


def _admin(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
    """A superuser tries every form and action there might be."""
    del scene
    client = Client()
    if by is not None:
        User.objects.filter(pk=by.pk).update(is_staff=True, is_superuser=True)
        client.force_login(User.objects.get(pk=by.pk))
    fields = {"ask": ask.pk, "option_label": sent.option, "text": sent.text, "status": "answered"}
    tried = [
        client.post(f"/admin/asks/{path}", fields)
        for path in ("verdict/add/", "vote/add/", "grant/add/", f"ask/{ask.pk}/change/")
    ]
    client.post("/admin/asks/ask/", {"action": "approve", "_selected_action": [ask.pk]})
    return Said(min(answer.status_code for answer in tried), "")


def signed_through(channel: Channel) -> Route:
    """The signed channel, with everybody's real keys but the agent's."""
    for name in ("olga", "carl", "sam"):
        channel.allow(name)

    def ask_of_value(scene: Scene) -> Ask:
        return asked(scene.session, ActionDraft("refund", REFUND.params, money_critical=True))

    def sign(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
        del scene
        document = json.loads(shown(ask, "deny" if sent.option == "deny" else "approve"))
        document |= {"ask": sent.ask_id or ask.pk}
        if sent.option not in ("approve", "deny"):
            document["option"] = sent.option
        exact = sent.ask_id is None and sent.option in ("approve", "deny")
        content = shown(ask, sent.option) if exact else json.dumps(document).encode()
        name = f"{next(_numbers)}.json"
        signer = by.get_username() if by else "the agent"
        channel.put(name, content, signer, "file" if sent.forged else NAMESPACE)
        decision_files.scan_folder()
        return Said(0, SignedFile.objects.get(name=name).why)

    return Route("refund", ask_of_value, sign)


def _paused(scene: Scene) -> Ask:
    """A question of a hybrid agent, raised over its own door."""
    caller = hybrid.Caller(token_of(scene, scene.owner))
    paused = caller.ask()
    ask = hybrid.ask_of(paused)
    _PAUSED[ask.pk] = paused
    return ask


_PAUSED: dict[int, Any] = {}


def _respond(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
    output = {"approve": "EU", "maybe": "Antarctica"}.get(sent.option, sent.text)
    output = sent.text if len(sent.text) > 10 else output
    try:
        hybrid.Caller(token_of(scene, by)).answer(_PAUSED[ask.pk], output)
    except hybrid.Refused as refused:
        return Said(refused.status, str(refused))
    return Said(200, "")


def _gate(scene: Scene) -> Ask:
    Orchestrator(token_of(scene, scene.owner)).run()
    return Ask.objects.get(session=leaf_session_of(scene.agent), status="open")


def _decide(scene: Scene, ask: Ask, sent: Sent, by: User | None) -> Said:
    gate = 7 if sent.ask_id else ask.gate.number
    action = {"deny": "reject"}.get(sent.option, sent.option)
    decision = {"gateId": gate, "action": action} | ({"feedback": sent.text} if sent.text else {})
    envelope = {"sessionId": "run/1", "item": ITEM, "decision": decision, "async": True}
    response = Orchestrator(token_of(scene, by)).send(envelope)
    carry_leaf()
    return Said(response.status_code, response.content.decode())


ROUTES: dict[str, Route] = {
    "page": Route("refund", _refund, _page),
    "api": Route("refund", _refund, _api),
    "admin": Route("refund", _refund, _admin),
    "responses": Route("*", _paused, _respond),
    "leaf": Route("leaf.proceed", _gate, _decide),
}
