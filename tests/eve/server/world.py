"""The scripted agent, and callers of /eve/v1, in the test's own transaction.

The door's synchronous side is called directly: what HTTP adds to it is tested against a real server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.test import RequestFactory

from agents.lifecycle import AgentState
from agents.models import Agent, Session
from agents.registration import register_agent
from agents.running.runtime import Ended
from asks.models import Ask, Refusal
from tests.responses import world as responses
from tests.responses.world import in_this_thread
from workspace.accounts import api_keys
from workspace.protocols.eve.agent.runtime import EveRuntime
from workspace.protocols.eve.errors import EveProblem
from workspace.protocols.eve.models import EveSession
from workspace.protocols.eve.server import log_reader, service
from workspace.protocols.eve.server.fold import Fold

Json = dict[str, Any]
ALL = ("run:create", "run:read", "ask:create", "ask:answer")
REFUND = 'call refund {"chargeId":"ch_1","amount":12.5}'
TWO_REFUNDS = (
    'call refund {"chargeId":"ch_1","amount":1}; call refund {"chargeId":"ch_2","amount":2}'
)
LEDGERS = (
    'ask {"prompt":"Which ledger?","options":[{"id":"eu","label":"EU"},{"id":"us","label":"US"}],'
    '"allowFreeform":false}'
)
NAME = 'ask {"prompt":"What name?","allowFreeform":true}'


def scripted_agent(*owners: User, slug: str = "billing") -> Agent:
    return register_agent(
        slug=slug,
        owners=list(owners),
        runtime_key="eve",
        settings={"agent": "workspace.demo.eve_agents:conformance"},
        lifecycle=AgentState.ACTIVE,
    )


def key_for(
    agent: Agent | None, person: User | None, scopes: Sequence[str] = ALL, name: str = "caller"
) -> str:
    return api_keys.create_key(name=name, scopes=scopes, agent=agent, person=person)[1]


def agents_key(agent: Agent) -> str:
    """A key with no person behind it."""
    return key_for(agent, None, ["run:create", "run:read"], name="machine")


class Caller:
    """A client with a key of its own. Raises Problem for what the door says no to."""

    def __init__(self, token: str) -> None:
        self._requests = RequestFactory(headers={"Authorization": f"Bearer {token}"})

    def call(self, what: Any, *ids: str, **body: Any) -> Json:
        """One of the door's verbs, with a body."""
        return self.raw(what, *ids, body=json.dumps(body).encode())

    def raw(self, what: Any, *ids: str, body: bytes) -> Json:
        request = self._requests.post("/eve/v1/session", body, content_type="application/json")
        said: Json = what(request, *ids, body)
        return said

    def open(self, message: str = "", **more: Any) -> Talk:
        """A session whose first turn is carried to its end."""
        said = {"message": message, **more} if message else more
        made = self.call(service.create_session, **said)
        carry_all()
        return Talk(self, made["sessionId"], made["continuationToken"])


class Talk:
    """A session as its client sees it."""

    def __init__(self, caller: Caller, session_id: str, token: str) -> None:
        self.caller, self.id, self.token = caller, session_id, token

    @property
    def row(self) -> Session:
        return EveSession.objects.select_related("session__agent").get(public_id=self.id).session

    def by(self, caller: Caller) -> Talk:
        """The same session in the hands of somebody else."""
        return Talk(caller, self.id, self.token)

    def send(self, **body: Any) -> Json:
        """A follow-up, and every turn that comes of it."""
        said = self.caller.call(service.continue_session, self.id, **body)
        carry_all()
        return said

    def say(self, message: str) -> list[Json]:
        """A message; the events that came after it."""
        before = len(self.events())
        self.send(message=message)
        return self.events()[before:]

    def answer(self, *responses: Json) -> list[Json]:
        """Structured answers; the events that came after them."""
        before = len(self.events())
        self.send(inputResponses=list(responses))
        return self.events()[before:]

    def choose(self, option: str, text: str = "") -> list[Json]:
        """The one open request is answered by an option."""
        [request] = self.open_requests()
        response = {"requestId": request["requestId"], "optionId": option}
        return self.answer(response | ({"text": text} if text else {}))

    def control(self, what: Any, **body: Any) -> Json:
        said = self.caller.call(what, self.id, **body)
        carry_all()
        return said

    def events(self) -> list[Json]:
        opened = EveSession.objects.select_related("session__agent").get(public_id=self.id)
        state, seq = Fold(log_reader.read_about(opened)), 0
        told: list[Json] = []
        while True:
            happened, last = log_reader.read_after(opened.session_id, seq, limit=7)
            told += [event for each in happened for event in state.take(each)]
            if last == seq:
                return told
            seq = last

    def types(self) -> list[str]:
        return types(self.events())

    def open_requests(self) -> list[Json]:
        """What was requested and not resolved yet, as a client counts it."""
        told = self.events()
        requested = [one for e in of(told, "input.requested") for one in e["requests"]]
        resolved = {r["requestId"] for e in of(told, "input.resolved") for r in e["resolutions"]}
        return [one for one in requested if one["requestId"] not in resolved]

    def asks(self) -> list[Ask]:
        return list(self.row.asks.order_by("pk"))


def of(told: Sequence[Json], kind: str) -> list[Json]:
    """The data of every event of a kind."""
    return [event["data"] for event in told if event["type"] == kind]


def types(told: Sequence[Json]) -> list[str]:
    """The kinds of events, without the pieces of words."""
    return [event["type"] for event in told if event["type"] != "message.appended"]


def outcomes(told: Sequence[Json]) -> list[str]:
    """What the last resolution says became of its requests."""
    return [one["outcome"] for one in of(told, "input.resolved")[-1]["resolutions"]]


def results(told: Sequence[Json]) -> list[str]:
    return [one["status"] for one in of(told, "action.result")]


def refused(problem: EveProblem) -> tuple[int, str]:
    return problem.status, problem.code


def last_refusal() -> Refusal:
    return Refusal.objects.latest("pk")


def carry_all() -> list[Ended]:
    """Every queued turn, to its end."""
    return responses.carry_all(EveRuntime(read=in_this_thread, once=in_this_thread))
