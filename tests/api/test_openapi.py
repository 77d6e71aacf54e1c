"""The OpenAPI document and the API say the same: every route, every status, every shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import resolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from agents import messages
from agents.models import Agent
from asks import answering
from asks.models import Ask, Grant
from asks.retirement import retire_agent
from tests.api import world
from tests.api.calling import Answer, Caller
from tests.api.world import Cast
from workspace.api import openapi
from workspace.api.operations import OPERATIONS
from workspace.api.shapes import NoBody
from workspace.api.urls import urlpatterns
from workspace.protocols.common.http import MAX_BODY

pytestmark = pytest.mark.django_db

DOCUMENT = openapi.openapi_document()
DOCUMENTED = [
    (method.upper(), path, int(status))
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
    for status in described["responses"]
]


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)


def test_each_documented_path_is_an_address_and_the_other_way_round() -> None:
    routes = [str(pattern.pattern) for pattern in urlpatterns if pattern.name]
    routes.remove("openapi.json")
    found = {
        "/api/" + route.replace("<slug:", "{").replace("<int:", "{").replace(">", "}")
        for route in routes
    }
    assert resolve("/api/asks").url_name == "api_listAsks"
    assert found == set(DOCUMENT["paths"])


def test_each_operation_is_described_once_with_its_scopes() -> None:
    names = [
        described["operationId"]
        for methods in DOCUMENT["paths"].values()
        for described in methods.values()
    ]
    assert sorted(names) == sorted(operation.name for operation in OPERATIONS)
    assert len(set(names)) == len(names)
    for operation in OPERATIONS:
        described = DOCUMENT["paths"][f"/api/{operation.path}"][operation.method.lower()]
        assert all(scope in described["description"] for scope in operation.scopes)


def test_it_is_served_to_keys_and_to_people_who_are_signed_in(cast: Cast, as_agent: Caller) -> None:
    assert as_agent.get("/api/openapi.json").json == DOCUMENT
    client = Client()
    assert client.get("/api/openapi.json").status_code == 401
    client.force_login(cast.stranger)
    assert client.get("/api/openapi.json").json() == DOCUMENT
    assert client.post("/api/openapi.json").status_code == 405
    assert client.get("/api/openapi.json", headers={"Accept": "text/html"}).status_code == 406


def checked(method: str, path: str, answer: Answer) -> int:
    """The status, once the answer is seen to be what the document says of it."""
    described = DOCUMENT["paths"][path][method.lower()]["responses"].get(str(answer.status))
    assert described is not None, (
        f"{method} {path} answered {answer.status}, which is not documented"
    )
    [(media, content)] = described["content"].items()
    assert answer.headers["Content-Type"] == media
    schema = {**content["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(answer.json)
    return answer.status


def granted(cast: Cast) -> Grant:
    """What an agent may do once."""
    asked = world.asked(cast.agent, world.approval())
    echo = world.echo_of(asked)
    answering.answer_ask(ask_id=asked.pk, by=cast.owner, option="yes", echo=echo)
    return Grant.objects.get(ask=asked)


class Scene:
    """An open ask and its session, and a way to call one operation of the document."""

    def __init__(self, cast: Cast, method: str, path: str) -> None:
        self.cast, self.method, self.path = cast, method, path
        self.ask = world.asked(cast.agent, world.approval())
        self.caller = Caller(world.key_of(cast.owner))
        self.place: dict[str, Any] = {"ask_id": self.ask.pk, "session_id": self.ask.session_id}
        self.query = ""
        if "grant_id" in path:
            self.place["grant_id"] = granted(cast).pk
        self.body: Any = {"option": "yes", "binding": world.echo_of(self.ask)}
        if path.endswith("/cancel"):
            self.body = {"reason": "done"}
        if path.endswith("/withdraw"):
            self.body = {}
        self.headers: dict[str, str] = {}
        if "/agents" in path:
            self._with_agent(cast, path)

    def _with_agent(self, cast: Cast, path: str) -> None:
        """Call as an owner who may decide what runs, on an agent that the operation may change."""
        cast.owner.user_permissions.add(Permission.objects.get(codename="add_agent"))
        self.caller = Caller(world.key_of(cast.owner, scopes=("agent:edit",)))
        self.place["slug"] = cast.agent.slug
        self.body = {}
        if path.endswith("/agents"):
            self.body = {"slug": "fresh", "runtime": "still"}
        elif path.endswith("{slug}"):
            self.body = {"version": 1, "mission": "Sort."}
        elif path.endswith("/owners"):
            self.body = {"version": 1, "add": [cast.stranger.username]}
        elif path.endswith("/restore"):
            retire_agent(agent_id=cast.agent.pk, by=cast.owner)

    def call(self) -> Answer:
        path = self.path.format(**self.place) + self.query
        if self.method == "GET":
            return self.caller.get(path, **self.headers)
        if self.method == "PATCH":
            body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
            headers = {"Content-Type": "application/json", **self.headers}
            return self.caller.send("PATCH", path, body, headers=headers)
        return self.caller.post(path, self.body, **self.headers)


def _as_it_is(scene: Scene) -> None:
    """Nothing is wrong."""


def _malformed(scene: Scene) -> None:
    scene.body = b"{"


def _no_key(scene: Scene) -> None:
    scene.caller = Caller(None)


def _no_scope(scene: Scene) -> None:
    scene.caller = Caller(world.key_of(scene.cast.owner, scopes=("run:create",)))


def _missing(scene: Scene) -> None:
    scene.place = {"ask_id": 10**12, "session_id": 10**12, "grant_id": 10**12, "slug": "missing"}


def _no_json_wanted(scene: Scene) -> None:
    scene.headers = {"Accept": "text/html"}


def _conflict(scene: Scene) -> None:
    """Closed by another answer; for events, a cursor ahead; for a grant, it has lapsed."""
    if "grant_id" in scene.place:
        session = Grant.objects.get(pk=scene.place["grant_id"]).session_id
        messages.post_message(session_id=session, by=scene.cast.owner, text="Wait.")
    if scene.path.endswith("/restore"):
        Agent.objects.update(lifecycle="active")
    elif "/agents" in scene.path:
        Agent.objects.update(version=2, lifecycle="retired")
    echo = world.echo_of(scene.ask)
    answering.answer_ask(ask_id=scene.ask.pk, by=scene.cast.colleague, option="no", echo=echo)
    scene.query = "?after=999999" if scene.path.endswith("/events") else ""


def _expired(scene: Scene) -> None:
    Ask.objects.filter(pk=scene.ask.pk).update(expires_at=scene.ask.opened_at)
    if scene.path.endswith("/cancel"):
        from asks.deadlines import expiry

        assert expiry.expire_due_asks()


def _too_large(scene: Scene) -> None:
    scene.body = b" " * (MAX_BODY + 1)


def _wrong_type(scene: Scene) -> None:
    scene.headers = {"Content_Type": "text/plain"}


def _wrong_field(scene: Scene) -> None:
    scene.body, scene.query = {"more": 1}, "?more=1"


def _too_often(scene: Scene) -> None:
    _no_scope(scene)
    for _ in range(20):
        scene.call()


def _unbindable(scene: Scene) -> None:
    scene.body = {"option": "yes"}


SPOIL: dict[int, Callable[[Scene], None]] = {
    200: _as_it_is,
    400: _malformed,
    401: _no_key,
    403: _no_scope,
    404: _missing,
    406: _no_json_wanted,
    409: _conflict,
    410: _expired,
    413: _too_large,
    415: _wrong_type,
    422: _wrong_field,
    428: _unbindable,
    429: _too_often,
}


@pytest.mark.parametrize(("method", "path", "status"), DOCUMENTED)
def test_each_documented_status_is_given_in_its_documented_shape(
    cast: Cast, method: str, path: str, status: int
) -> None:
    scene = Scene(cast, method, path)
    SPOIL[status](scene)
    assert checked(method, path, scene.call()) == status


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = {
    "option": st.sampled_from(["yes", "no", "", "maybe"]) | st.text() | JSON,
    "text": st.text() | JSON,
    "reason": st.text() | JSON,
    "binding": JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "action_hash": st.text() | JSON,
            "policy_version": st.integers() | JSON,
            "run_version": st.text() | JSON,
        },
    ),
}
FIELDS |= {
    "version": st.integers(0, 3) | JSON,
    **dict.fromkeys(("name", "slug", "mission", "runtime"), st.text() | JSON),
    "settings": st.dictionaries(st.sampled_from(["command", "env"]) | st.text(), JSON) | JSON,
    "wake_policy": st.dictionaries(st.sampled_from(["kind", "cron"]) | st.text(), JSON) | JSON,
    **dict.fromkeys(("add", "add_groups", "remove"), st.lists(st.text()) | JSON),
}
BODIES = st.fixed_dictionaries({}, optional=FIELDS) | JSON
QUERIES = st.dictionaries(
    st.sampled_from(["status", "kind", "agent", "session", "after", "limit", "more"])
    | st.text(max_size=5),
    st.sampled_from(["open", "all", "approval", "1", "0", "-1", "MjAyNi"]) | st.text(max_size=9),
    max_size=4,
)


#: A paused or retired agent would ask nothing more.
THAT_LEAVE_THE_AGENT = [
    one for one in OPERATIONS if not (one.path.startswith("agents/") and one.body is NoBody)
]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    operation=st.sampled_from(THAT_LEAVE_THE_AGENT), body=BODIES, query=QUERIES, there=st.booleans()
)
def test_whatever_is_sent_is_answered_as_documented(
    cast: Cast, operation: Any, body: object, query: dict[str, str], *, there: bool
) -> None:
    """No request gives a status or a shape that the document does not name; and none a 500."""
    ask = Ask.objects.filter(agent=cast.agent, status="open").first() or world.asked(
        cast.agent, world.approval()
    )
    scopes = ("run:read", "ask:answer", "agent:edit")
    caller = Caller(world.key_of(cast.owner, scopes=scopes))
    ids: dict[str, Any] = {"ask_id": ask.pk, "session_id": ask.session_id} if there else _NOWHERE
    if "grant_id" in operation.path:
        ids = {"grant_id": granted(cast).pk if there else 10**15}
    if "{slug}" in operation.path:
        ids = {"slug": cast.agent.slug if there else "missing"}
    path = "/api/" + operation.path.format(**ids)
    if operation.method == "GET":
        response = caller.client.get(
            path, query, headers={"Authorization": f"Bearer {caller.token}"}
        )
        said = Answer(response.status_code, dict(response.headers), response.content)
    else:
        headers = {"Content-Type": "application/json"}
        said = caller.send(operation.method, path, json.dumps(body).encode(), headers)
    checked(operation.method, f"/api/{operation.path}", said)


_NOWHERE = {"ask_id": 10**15, "session_id": 10**15}
