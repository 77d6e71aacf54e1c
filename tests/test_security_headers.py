"""The security headers of every response, and those that TLS adds."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from tests.live_server import MANAGE, PROJECT

ADDRESSES = ["/", "/login", "/agents/", "/decisions/", "/healthz", "/nothing/here", "/admin/"]
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
}
HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MANAGE, *arguments],
        cwd=PROJECT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("signed_in", [False, True])
@pytest.mark.django_db
def test_every_answer_carries_the_policy(address: str, *, signed_in: bool) -> None:
    client = Client()
    if signed_in:
        client.force_login(User.objects.create(username="olga"))
    answer = client.get(address)
    assert {part.strip() for part in answer["Content-Security-Policy"].split(";")} == POLICY
    assert {name: answer[name] for name in HEADERS} == HEADERS
    assert "Server" not in answer


@pytest.mark.django_db
def test_cookies_are_for_us_and_not_for_scripts() -> None:
    User.objects.create_user("olga", password="correct horse 7 battery")
    client = Client()
    client.get("/login")
    form = {"username": "olga", "password": "correct horse 7 battery"}
    cookies = client.post("/login", form).cookies
    for name in ("csrftoken", "sessionid"):
        assert cookies[name]["httponly"]
        assert cookies[name]["samesite"] == "Lax"


def test_a_deployment_behind_tls_has_nothing_left_to_set() -> None:
    checked = manage("check", "--deploy", HTTPS="1", SECRET_KEY=secrets.token_urlsafe(50))
    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout + checked.stderr


def test_the_check_would_notice_a_weak_key() -> None:
    checked = manage("check", "--deploy", "--fail-level", "WARNING", HTTPS="1", SECRET_KEY="short")
    assert checked.returncode != 0
    assert "security.W009" in checked.stderr


PRINT = """
from django.conf import settings
print(settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS, settings.SESSION_COOKIE_SECURE,
      settings.CSRF_COOKIE_SECURE, settings.SECURE_PROXY_SSL_HEADER is not None, settings.DEBUG)
"""


@pytest.mark.parametrize(
    ("https", "settings"),
    [("1", "True 31536000 True True True False"), ("", "False 0 False False False False")],
)
def test_what_tls_turns_on(https: str, settings: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()" + PRINT],
        cwd=PROJECT,
        env={**os.environ, "HTTPS": https, "DJANGO_SETTINGS_MODULE": "workspace.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == settings.split()


@override_settings(
    SECURE_SSL_REDIRECT=True,
    SECURE_HSTS_SECONDS=31_536_000,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
)
@pytest.mark.django_db
def test_behind_tls_plain_requests_are_sent_to_it_and_probes_are_answered() -> None:
    client = Client()
    plain = client.get("/login")
    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/login")
    through_tls = client.get("/login", headers={"X-Forwarded-Proto": "https"})
    assert through_tls.status_code == 200
    assert "max-age=31536000" in through_tls["Strict-Transport-Security"]
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code in {200, 503}
