"""Who gets into the admin, and by which door."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from asks.models import Verdict
from tests.admin import world

pytestmark = pytest.mark.django_db
ADDRESSES = ["/admin/", *(f"/admin/{page}/" for page in world.PAGES)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_anonymous_are_sent_to_the_one_sign_in(client: Client, address: str) -> None:
    ways = client.get(address, follow=True).redirect_chain
    assert ways[-1] == (f"/login?next={address}", 302)


def test_the_admins_own_sign_in_is_the_one_sign_in(client: Client) -> None:
    answer = client.get("/admin/login/?next=/admin/asks/verdict/")
    assert (answer.status_code, answer["Location"]) == (302, "/login?next=/admin/asks/verdict/")
    assert client.post("/admin/login/", {"username": "x", "password": "y"}).status_code == 302


@pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_nobody_is_sent_away_from_here(client: Client, as_root: Client, away: str) -> None:
    assert client.get("/admin/login/", {"next": away})["Location"] == "/login?next=/admin/"
    assert as_root.get("/admin/login/", {"next": away})["Location"] == "/admin/"


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_owner_who_is_not_staff_is_refused_and_not_sent_in_circles(address: str) -> None:
    client = Client()
    client.force_login(world.person("olga"))
    answer = client.get(address, follow=True)
    assert answer.status_code == 403


@pytest.mark.parametrize("listed", world.PAGES)
def test_staff_see_what_they_have_the_right_to_view(listed: str) -> None:
    staff: User = world.person("ada", staff=True)
    client = Client()
    client.force_login(staff)
    assert client.get(f"/admin/{listed}/").status_code == 403
    app, model = listed.split("/")
    staff.user_permissions.add(
        Permission.objects.get(content_type__app_label=app, codename=f"view_{model}")
    )
    assert client.get(f"/admin/{listed}/").status_code == 200


def test_the_right_to_change_lets_nobody_change(as_root: Client) -> None:
    staff = world.person("ada", staff=True)
    staff.user_permissions.set(Permission.objects.filter(content_type__app_label="asks"))
    client = Client()
    client.force_login(staff)
    world.fill(1)
    verdict = Verdict.objects.get()
    assert client.get(f"/admin/asks/verdict/{verdict.pk}/change/").status_code == 200
    assert client.post(f"/admin/asks/verdict/{verdict.pk}/change/", {}).status_code == 403
    assert client.post(f"/admin/asks/verdict/{verdict.pk}/delete/", {}).status_code == 403


def test_guessing_a_password_for_the_admin_is_throttled(client: Client, root: User) -> None:
    root.set_password("the right password 1")
    root.save()
    wrong = {"username": "root", "password": "wrong", "next": "/admin/"}
    statuses = [client.post("/login", wrong).status_code for _ in range(6)]
    assert statuses[-1] == 429
    right = {**wrong, "password": "the right password 1"}
    assert client.post("/login", right).status_code == 429


def test_people_are_kept_by_djangos_own_pages(as_root: Client, root: User) -> None:
    assert as_root.get("/admin/auth/user/").status_code == 200
    assert b'name="_save"' in as_root.get(f"/admin/auth/user/{root.pk}/change/").content
