"""Not even a superuser changes what happened: no form, no action, no address does it."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client

from agents.models import Agent, Event, InboxItem, Lane, Run, Session
from asks.models import Ask, Refusal, Verdict
from tests.admin import world

pytestmark = pytest.mark.django_db

MODELS: tuple[type[Model], ...] = (
    Agent, Session, Run, Event, InboxItem, Lane, Ask, Verdict, Refusal,
)  # fmt: skip


def address_of(model: type[Model]) -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/"


def everything() -> dict[str, list[dict[str, object]]]:
    return {
        model.__name__: list(model._default_manager.order_by("pk").values()) for model in MODELS
    }


@pytest.mark.parametrize("model", MODELS)
def test_no_post_changes_anything(as_root: Client, model: type[Model]) -> None:
    world.fill(2)
    before = everything()
    row = model._default_manager.latest("pk")
    address = address_of(model)
    fields = {field.name: "1" for field in model._meta.fields}
    tried = [
        as_root.post(f"{address}add/", fields),
        as_root.post(f"{address}{row.pk}/change/", {**fields, "_save": "Save"}),
        as_root.post(f"{address}{row.pk}/change/", {**fields, "_saveasnew": "Save as new"}),
        as_root.post(f"{address}{row.pk}/delete/", {"post": "yes"}),
        as_root.get(f"{address}add/"),
        as_root.get(f"{address}{row.pk}/delete/"),
    ]
    assert [answer.status_code for answer in tried] == [403] * 6
    chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
    as_root.post(address, chosen)
    as_root.post(address, {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "_save": "Save"})
    assert everything() == before


def test_inlines_change_nothing_either(as_root: Client) -> None:
    world.fill(1)
    before = everything()
    ask = Ask.objects.get()
    data = {"options-TOTAL_FORMS": "1", "options-INITIAL_FORMS": "0", "options-0-key": "mine"}
    assert as_root.post(f"/admin/asks/ask/{ask.pk}/change/", data).status_code == 403
    assert everything() == before


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_ours_in_the_admin_is_read_only(model: type[Model], root: User) -> None:
    page = admin.site.get_model_admin(model)
    request = type("Request", (), {"user": root})()
    assert not page.has_add_permission(request)
    assert not page.has_change_permission(request)
    assert not page.has_delete_permission(request)
    assert page.has_view_permission(request)
