"""The API's door: methods, media types, sizes, JSON, fields. All refused before any work."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from asks.models import Ask, Refusal, Verdict
from tests.api import world
from tests.api.calling import Answer, Caller
from tests.api.world import Cast
from workspace.protocols.common.http import MAX_BODY

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(cast: Cast) -> Ask:
    return world.asked(cast.agent)


def refused(answer: Answer, status: int, reason: str) -> Answer:
    assert (answer.status, answer.json["reason"]) == (status, reason), answer.json
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert not Verdict.objects.exists()
    return answer


ROUTES = [
    ("GET", "/api/asks"),
    ("GET", "/api/asks/{ask}"),
    ("POST", "/api/asks/{ask}/answer"),
    ("POST", "/api/asks/{ask}/cancel"),
    ("GET", "/api/sessions/{session}"),
    ("GET", "/api/sessions/{session}/events"),
]


def filled(path: str, ask: Ask) -> str:
    return path.format(ask=ask.pk, session=ask.session_id)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_nothing_opens_without_a_key(ask: Ask, method: str, path: str) -> None:
    said = refused(Caller(None).send(method, filled(path, ask)), 401, "no_key")
    assert said.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_browsers_session_opens_nothing(cast: Cast, ask: Ask, method: str, path: str) -> None:
    """Not even with everything a form would carry."""
    client = Client()
    client.force_login(cast.owner)
    response = client.generic(
        method, filled(path, ask), b'{"option":"eu"}', content_type="application/json"
    )
    assert response.status_code == 401
    assert not Verdict.objects.exists()
    assert "sessionid" not in response.cookies


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_other_methods_are_named(ask: Ask, as_owner: Caller, method: str, path: str) -> None:
    wrong = ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "POST" if method == "GET" else "GET"]
    for other in wrong:
        said = refused(as_owner.send(other, filled(path, ask)), 405, "method")
        assert said.headers["Allow"] == ("GET, HEAD" if method == "GET" else "POST")


@pytest.mark.case("C81")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("verb", ["answer", "cancel"])
def test_following_a_link_decides_nothing(
    ask: Ask, as_owner: Caller, method: str, verb: str
) -> None:
    for _ in range(2):
        response = as_owner.client.generic(
            method,
            f"/api/asks/{ask.pk}/{verb}?option=eu",
            headers={"Authorization": f"Bearer {as_owner.token}"},
        )
        assert response.status_code == 405
    assert Ask.objects.get(pk=ask.pk).status == "open"


def test_head_is_get_without_a_body(ask: Ask, as_owner: Caller) -> None:
    said = as_owner.send("HEAD", f"/api/asks/{ask.pk}")
    assert (said.status, said.body) == (200, b"")


@pytest.mark.parametrize(
    "path", ["/api/", "/api/asks/", "/api/nothing", "/api/asks/x", "/api/asks/-1", "/api/asks/1/x"]
)
def test_what_is_not_there_is_a_problem_too(as_owner: Caller, path: str) -> None:
    refused(as_owner.get(path), 404, "not_found")


@pytest.mark.parametrize(
    "accept", ["text/html", "image/*", "application/json;q=0", "text/*, */*;q=0"]
)
def test_who_takes_no_json_gets_none(ask: Ask, as_owner: Caller, accept: str) -> None:
    refused(as_owner.get("/api/asks", Accept=accept), 406, "not_acceptable")


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/*",
        "application/json",
        "text/html, application/json;q=0.1",
        "",
        "*/*;q=0.1",
    ],
)
def test_who_takes_json_gets_it(ask: Ask, as_owner: Caller, accept: str) -> None:
    assert as_owner.get("/api/asks", Accept=accept).status == 200


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "application/jsonp",
    ],
)
def test_only_json_is_taken(ask: Ask, as_owner: Caller, kind: str) -> None:
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", b'{"option":"eu"}', Content_Type=kind)
    refused(said, 415, "media_type")


def test_a_compressed_body_is_not_taken(ask: Ask, as_owner: Caller) -> None:
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", b"\x1f\x8b", Content_Encoding="gzip")
    refused(said, 415, "media_type")


def test_json_with_its_charset_is_taken(ask: Ask, as_owner: Caller) -> None:
    said = as_owner.post(
        f"/api/asks/{ask.pk}/answer",
        b'{"option":"eu"}',
        Content_Type="application/json; charset=UTF-8",
    )
    assert said.status == 200


@pytest.mark.parametrize("size", [MAX_BODY + 1, 2 * 1024 * 1024])
def test_an_oversize_body_is_refused(ask: Ask, as_owner: Caller, size: int) -> None:
    body = b'{"text":"' + b"x" * size + b'"}'
    refused(as_owner.post(f"/api/asks/{ask.pk}/answer", body), 413, "too_large")


def test_the_longest_answer_fits_however_it_is_escaped(cast: Cast, as_owner: Caller) -> None:
    ask = world.asked(cast.agent, world.words())
    text = "😀" * 16_000
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", {"text": text})
    assert said.status == 200
    assert Verdict.objects.get().text == text


@pytest.mark.case("C97")
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b"[" * 100_000 + b"]" * 100_000,
        b'{"binding":' * 15_000 + b"1" + b"}" * 15_000,
        b'{"option":"eu","option":"us"}',
        b'{"binding":{"policy_version":1,"policy_version":2}}',
        b'{"option":NaN}',
        b'{"option":Infinity}',
        b'{"text":"\xff"}',
        b'{"text":"a' + b"\x00" + b'b"}',
        b'{"policy_version":' + b"9" * 5000 + b"}",
        b'{"option":"eu"} trailing',
        "{}".encode("utf-16"),
    ],
    ids=range(13),
)
def test_malformed_json_is_400(ask: Ask, as_owner: Caller, body: bytes) -> None:
    refused(as_owner.post(f"/api/asks/{ask.pk}/answer", body), 400, "malformed")
    assert not Refusal.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "body"),
        ("eu", "body"),
        (7, "body"),
        ({"option": 1}, "option"),
        ({"option": None}, "option"),
        ({"option": ["eu"]}, "option"),
        ({"text": {"a": 1}}, "text"),
        ({"text": True}, "text"),
        ({"binding": "v1:abc"}, "binding"),
        ({"binding": {"action_hash": 1}}, "binding.action_hash"),
        ({"binding": {"policy_version": "1"}}, "binding.policy_version"),
        ({"binding": {"policy_version": 1.5}}, "binding.policy_version"),
        ({"binding": {"policy_version": True}}, "binding.policy_version"),
        ({"binding": {"run_version": 1}}, "binding.run_version"),
        ({"binding": {"more": 1}}, "binding.more"),
        ({"more": 1}, "more"),
        ({"Option": "eu"}, "Option"),
    ],
)
def test_a_wrong_field_is_named(ask: Ask, as_owner: Caller, body: Any, field: str) -> None:
    said = refused(as_owner.post(f"/api/asks/{ask.pk}/answer", body), 422, "shape")
    assert [(error["field"], error["where"]) for error in said.json["errors"]] == [(field, "body")]
    assert field in said.json["detail"]


@pytest.mark.parametrize("name", ["\ud800", "\x00", "x" * 1000, ""])
def test_a_field_of_any_name_is_refused(ask: Ask, as_owner: Caller, name: str) -> None:
    refused(as_owner.post(f"/api/asks/{ask.pk}/answer", {name: 1}), 422, "shape")


@pytest.mark.parametrize("text", ["\ud800", "\x00", "\U000e0001"])
def test_a_reason_holds_whatever_can_be_kept(ask: Ask, as_owner: Caller, text: str) -> None:
    assert as_owner.post(f"/api/asks/{ask.pk}/cancel", {"reason": text}).status == 200


def test_what_was_sent_is_not_repeated_in_a_refusal(ask: Ask, as_owner: Caller) -> None:
    said = as_owner.post(f"/api/asks/{ask.pk}/answer", {"option": 1, "password": "hunter2"})
    assert b"hunter2" not in said.body


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=waiting", "status"),
        ("status=open&status=all", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("session=0", "session"),
        ("session=9223372036854775808", "session"),
        ("agent=A%00", "agent"),
        ("agent=UPPER", "agent"),
        ("kind=bet", "kind"),
        ("after=%00", "after"),
        ("after=nonsense", "after"),
        ("after=MjAyNi0wMS0wMSAx", "after"),  # a moment without a time zone
        ("after=" + "A" * 200, "after"),
        ("more=1", "more"),
        ("by=olga", "by"),
    ],
)
def test_a_wrong_parameter_is_named(ask: Ask, as_owner: Caller, query: str, field: str) -> None:
    said = refused(as_owner.get(f"/api/asks?{query}"), 422, "shape")
    assert {error["field"].partition(".")[0] for error in said.json["errors"]} == {field}
    assert {error["where"] for error in said.json["errors"]} == {"query"}


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=1000", "more=1"])
def test_events_check_their_parameters_too(ask: Ask, as_owner: Caller, query: str) -> None:
    refused(as_owner.get(f"/api/sessions/{ask.session_id}/events?{query}"), 422, "shape")


@pytest.mark.parametrize("pk", ["9" * 18, "9" * 30, "9" * 4000, "0"])
def test_an_id_of_any_length_is_merely_not_there(as_owner: Caller, pk: str) -> None:
    assert as_owner.get(f"/api/asks/{pk}").status == 404
    assert as_owner.post(f"/api/asks/{pk}/answer", {"option": "eu"}).status == 404
    assert as_owner.post(f"/api/asks/{pk}/cancel").status == 404
    assert as_owner.get(f"/api/sessions/{pk}").status == 404


def test_an_attempt_of_an_agent_on_an_endless_id_is_kept(as_agent: Caller) -> None:
    assert as_agent.post(f"/api/asks/{'9' * 1000}/answer").status == 403
    assert Refusal.objects.count() == 1


def test_the_key_is_asked_for_before_the_body_is_read(ask: Ask) -> None:
    refused(Caller(None).post(f"/api/asks/{ask.pk}/answer", b"{" * 1000), 401, "no_key")


def test_a_problem_carries_only_what_it_has(as_owner: Caller) -> None:
    said = as_owner.get("/api/asks/1")
    assert json.loads(said.body).keys() == {"type", "title", "status", "detail", "reason"}
