"""Sign-in links work once, in time, and only by the button."""

import threading
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.test import Client
from django.utils import timezone

from tests.races.racing import race
from workspace.accounts.sign_in_links import LIFETIME, issue_path, issue_token, use_token
from workspace.models import EntryLink

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def signed_in(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


def test_opening_the_link_uses_nothing_up(client: Client, alice: User) -> None:
    path = issue_path(alice)

    for _ in range(3):
        page = client.get(path)
        assert page.status_code == 200
        assert "Sign in as alice" in page.content.decode()
    assert client.head(path).status_code == 200

    assert signed_in(client) is None
    assert EntryLink.objects.get().used_at is None


def test_pressing_the_button_signs_in_and_uses_the_link_up(client: Client, alice: User) -> None:
    path = issue_path(alice)

    answer = client.post(path)

    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert signed_in(client) == str(alice.pk)

    again = Client()
    assert again.post(path).status_code == 410
    assert again.get(path).status_code == 410
    assert signed_in(again) is None


def test_button_needs_the_pages_own_form(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)

    assert strict.post(issue_path(alice)).status_code == 403
    assert EntryLink.objects.get().used_at is None


def test_link_expires(client: Client, alice: User) -> None:
    path = issue_path(alice)
    EntryLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert client.get(path).status_code == 410
    assert client.post(path).status_code == 410
    assert signed_in(client) is None


def test_link_lasts_a_working_day(alice: User) -> None:
    issue_token(alice)

    link = EntryLink.objects.get()
    assert link.expires_at - link.created_at == pytest.approx(LIFETIME, abs=timedelta(minutes=1))


@pytest.mark.parametrize("token", ["x", "a" * 500, "%00", "ünïcode", "' OR 1=1 --"])
def test_unknown_link_is_gone(client: Client, alice: User, token: str) -> None:
    issue_token(alice)

    assert client.get(f"/enter/{token}").status_code == 410
    assert client.post(f"/enter/{token}").status_code == 410


def test_person_who_may_not_sign_in_is_not_let_in(client: Client, alice: User) -> None:
    path = issue_path(alice)
    User.objects.update(is_active=False)

    assert client.post(path).status_code == 410
    assert signed_in(client) is None


def test_page_is_neither_stored_nor_indexed(client: Client, alice: User) -> None:
    page = client.get(issue_path(alice))

    assert "no-store" in page.headers["Cache-Control"]
    assert page.headers["X-Robots-Tag"] == "noindex, nofollow"


def test_table_holds_no_token(alice: User) -> None:
    token = issue_token(alice)

    assert token not in str(EntryLink.objects.values().get())


def test_database_refuses_a_use_after_the_end(alice: User) -> None:
    issue_token(alice)
    link = EntryLink.objects.get()

    with pytest.raises(IntegrityError, match="entry_link_used_in_time"):
        EntryLink.objects.update(used_at=link.expires_at + timedelta(seconds=1))


@pytest.mark.django_db(transaction=True)
def test_a_use_that_waited_for_another_signs_nobody_in(alice: User) -> None:
    """A double click, or a link that two people use: the second one finds it used."""
    token = issue_token(alice)
    raced = race(partial(use_token, token), partial(use_token, token))
    assert (raced.first, raced.second) == (alice, None)


@pytest.mark.django_db(transaction=True)
def test_of_two_uses_at_the_same_time_one_signs_in(alice: User) -> None:
    token = issue_token(alice)
    together = threading.Barrier(8)
    found: list[User | None] = []

    def use() -> None:
        together.wait()
        try:
            found.append(use_token(token))
        finally:
            connection.close()

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [user for user in found if user] == [alice]


def test_command_prints_a_link_that_works(client: Client, alice: User) -> None:
    out = StringIO()
    call_command("signin_link", "alice", "--base-url", "https://needs.example/", stdout=out)

    link = out.getvalue().strip()
    assert link.startswith("https://needs.example/enter/")
    client.post(link.removeprefix("https://needs.example"))
    assert signed_in(client) == str(alice.pk)


def test_command_names_the_port_that_the_server_has(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", "8123")
    out = StringIO()
    call_command("signin_link", "alice", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8123/enter/")


def test_command_says_that_nobody_has_the_name() -> None:
    with pytest.raises(CommandError, match=r"^There is no active user bob\.$"):
        call_command("signin_link", "bob")
