"""Signing in and out, and the pages for what went wrong."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path

from tests.pages.html import read
from workspace import urls as real

pytestmark = pytest.mark.django_db
PASSWORD = "horse battery staple"


def broken(_: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken on purpose")


def forbidden(_: HttpRequest) -> HttpResponse:
    raise PermissionDenied


urlpatterns = [path("broken", broken), path("forbidden", forbidden), path("", include(real))]
handler400, handler403 = real.handler400, real.handler403
handler404, handler500 = real.handler404, real.handler500


def test_signing_in_leads_to_where_one_wanted(client: Client, owner: User) -> None:
    page = read(client.get("/login?next=/decisions/").content)
    fields = page.one("form").fields() | {"username": owner.username, "password": PASSWORD}
    assert client.post("/login", fields)["Location"] == "/decisions/"


def test_signing_in_never_leads_elsewhere(client: Client, owner: User) -> None:
    fields = {"username": owner.username, "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/login", fields)["Location"] == "/"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"username": "", "password": ""},
        {"username": "olga", "password": "wrong"},
        {"username": "nobody", "password": PASSWORD},
        {"username": "ol\x00ga", "password": PASSWORD},
        {"username": "x" * 100_000, "password": "y"},
    ],
)
def test_a_failed_sign_in_says_so(client: Client, owner: User, fields: dict[str, str]) -> None:
    response = client.post("/login", fields)
    assert response.status_code == 200
    assert "You are not signed in." in read(response.content).one("div", role="alert").words


def test_guessing_is_stopped(client: Client, owner: User) -> None:
    for _ in range(5):
        client.post("/login", {"username": owner.username, "password": "wrong"})
    response = client.post("/login", {"username": owner.username, "password": PASSWORD})
    assert response.status_code == 429
    assert "Too many tries" in read(response.content).words


def test_who_is_signed_in_needs_no_sign_in_page(as_owner: Client) -> None:
    assert as_owner.get("/login")["Location"] == "/"


def test_signing_out(as_owner: Client) -> None:
    assert as_owner.get("/logout").status_code == 405
    assert as_owner.post("/logout")["Location"] == "/login"
    assert as_owner.get("/").status_code == 302


def test_signing_out_twice_is_no_error(client: Client) -> None:
    assert client.post("/logout").status_code in {302, 401}


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/broken", 500, "Something broke"),
        ("/forbidden", 403, "Not allowed"),
        ("/nothing", 404, "Not found"),
    ],
)
def test_pages_for_what_went_wrong(owner: User, address: str, status: int, words: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    with override_settings(ROOT_URLCONF=__name__):
        response = client.get(address)
    assert response.status_code == status
    page = read(response.content)
    assert page.one("h1").words == words
    assert page.one("a", class_="btn").attrs["href"] == "/"
    assert "Traceback" not in page.words


def test_the_way_back_is_ours(client: Client) -> None:
    for referer in (
        "https://evil.example/",
        "http://testserver/nothing/here",
        "javascript:alert(1)",
        "http://testserver//evil.example",
    ):
        page = read(client.post("/asks/1/answer", headers={"Referer": referer}).content)
        assert page.one("a", class_="btn").attrs["href"] == "/login?next=/"


def test_what_was_typed_comes_back_but_no_password(client: Client) -> None:
    response = client.post(
        "/asks/1/answer", {"text": "<i>mine</i>", "password": "hunter2", "option": "eu"}
    )
    words = read(response.content).words
    assert "<i>mine</i>" in words
    assert "hunter2" not in words


def test_headers_that_keep_others_out(as_owner: Client) -> None:
    response = as_owner.get("/")
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_host_that_is_not_ours_is_refused_in_words(client: Client) -> None:
    response = client.get("/login", headers={"host": "evil.example"})
    assert response.status_code == 400
    assert "could not be read" in response.content.decode()
