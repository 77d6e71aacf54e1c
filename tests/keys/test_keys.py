"""API keys: what is stored, what the database refuses, and whom a request identifies."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, transaction
from django.db.models import F
from django.http import HttpRequest
from django.test import RequestFactory
from pytest_django import DjangoAssertNumQueries

from asks.models import LedgerRecord
from tests.api import world
from tests.api.world import Cast
from workspace.accounts import api_keys
from workspace.accounts.api_keys import KeyRefused
from workspace.models import ApiKey

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return world.cast()


def request_with(authorization: str | None) -> HttpRequest:
    headers = {} if authorization is None else {"Authorization": authorization}
    return RequestFactory().get("/api/asks", headers=headers)


def made(*arguments: str) -> tuple[str, str]:
    """Return the output of `key create`, and the key on its last line."""
    out = StringIO()
    call_command("key", "create", *arguments, stdout=out)
    return out.getvalue(), out.getvalue().splitlines()[-1]


def secret_of(token: str) -> str:
    """Return the secret of a key `ny_<prefix>_<secret>`, which may contain underscores."""
    return token.split("_", 2)[2]


def test_the_command_prints_the_key_alone_on_the_last_line(cast: Cast) -> None:
    said, token = made("bot", "--scope", "run:read,ask:answer", "--owner", cast.owner.username)
    key = api_keys.authenticate_key(request_with(f"Bearer {token}"))
    assert key is not None
    assert (key.name, key.person, key.agent) == ("bot", cast.owner, None)
    assert key.scopes == ["run:read", "ask:answer"]
    assert said.count(token) == 1


def test_the_table_does_not_hold_the_key(cast: Cast) -> None:
    _, token = made("bot", "--scope", "run:read", "--owner", cast.owner.username)
    row = ApiKey.objects.values().get()
    assert len(secret_of(token)) == 43
    assert all(secret_of(token) not in str(value) for value in row.values())


def test_making_and_revoking_are_in_the_ledger_without_the_secret(cast: Cast) -> None:
    _, token = made("bot", "--scope", "run:read", "--agent", cast.agent.slug)
    call_command("key", "revoke", "bot", stdout=StringIO())
    key = ApiKey.objects.get()
    lines = LedgerRecord.objects.filter(subject=f"key:{key.pk}").order_by("seq")
    assert [line.kind for line in lines] == ["key_created", "key_revoked"]
    assert all(secret_of(token) not in line.body for line in lines)


@pytest.mark.parametrize("case", ["lower", "upper", "spaces"])
def test_the_scheme_may_be_written_as_the_standard_allows(cast: Cast, case: str) -> None:
    token = world.key_of(cast.owner)
    value = {"lower": "bearer ", "upper": "BEARER ", "spaces": "Bearer   "}[case] + token
    assert api_keys.authenticate_key(request_with(value)) is not None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: None,
        lambda token: "",
        lambda token: token,
        lambda token: f"Basic {token}",
        lambda token: f"Token {token}",
        lambda token: f"Bearer {token}x",
        lambda token: f"Bearer {token[:-1]}",
        lambda token: f"Bearer {token[:-1]}{'A' if token[-1] != 'A' else 'B'}",
        lambda token: f"Bearer {token.upper()}",
        lambda token: f"Bearer ny_{'0' * 12}_{token.rpartition('_')[2]}",
        lambda token: f"Bearer {token} {token}",
        lambda token: "Bearer ny_\x00" + token,
        lambda token: "Bearer " + "é" * 60,
        lambda token: "Bearer " + "x" * 100_000,
    ],
)
def test_anything_but_the_key_opens_nothing(cast: Cast, spoil: object) -> None:
    token = world.key_of(cast.owner)
    assert api_keys.authenticate_key(request_with(spoil(token))) is None  # type: ignore[operator]


def test_a_known_prefix_with_another_secret_opens_nothing(cast: Cast) -> None:
    mine, theirs = world.key_of(cast.owner), world.key_of(cast.stranger)
    mixed = f"{mine[:15]}_{theirs[16:]}"
    assert mixed[:15] == mine[:15]
    assert api_keys.authenticate_key(request_with(f"Bearer {mixed}")) is None


def test_a_revoked_key_opens_nothing_at_once_and_for_good(cast: Cast) -> None:
    key, token = world.made_key(cast.owner)
    assert api_keys.authenticate_key(request_with(f"Bearer {token}")) is not None
    assert api_keys.revoke_key(key.name)
    assert api_keys.authenticate_key(request_with(f"Bearer {token}")) is None
    assert not api_keys.revoke_key(key.name)
    with pytest.raises(ProgrammingError, match="Cannot"), transaction.atomic():
        ApiKey.objects.filter(pk=key.pk).update(revoked_at=None)


def test_the_key_of_somebody_locked_out_opens_nothing(cast: Cast) -> None:
    token = world.key_of(cast.owner)
    cast.owner.is_active = False
    cast.owner.save()
    assert api_keys.authenticate_key(request_with(f"Bearer {token}")) is None


def test_knowing_a_key_costs_one_query(
    cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    token = world.key_of(cast.owner, cast.agent)
    api_keys.authenticate_key(request_with(f"Bearer {token}"))  # notes its use
    with django_assert_num_queries(1):
        key = api_keys.require_key(request_with(f"Bearer {token}"), "run:read")
        assert (key.person, key.agent) == (cast.owner, cast.agent)
    with django_assert_num_queries(0):
        api_keys.authenticate_key(request_with("Bearer nonsense"))


def test_last_use_is_coarse(cast: Cast) -> None:
    key, token = world.made_key(cast.owner)
    api_keys.authenticate_key(request_with(f"Bearer {token}"))
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    api_keys.authenticate_key(request_with(f"Bearer {token}"))
    key.refresh_from_db()
    assert key.last_used_at == first
    ApiKey.objects.update(
        last_used_at=F("last_used_at") - api_keys.USED_EVERY - timedelta(seconds=1)
    )
    api_keys.authenticate_key(request_with(f"Bearer {token}"))
    key.refresh_from_db()
    assert key.last_used_at is not None
    assert key.last_used_at >= first


def test_a_scope_that_is_not_held_is_refused(cast: Cast) -> None:
    token = world.key_of(cast.owner, scopes=("run:read",))
    assert api_keys.require_key(request_with(f"Bearer {token}"), "run:read", "ask:create").person_id
    with pytest.raises(KeyRefused) as refused:
        api_keys.require_key(request_with(f"Bearer {token}"), "ask:answer")
    assert (refused.value.status, refused.value.reason) == (403, "scope")
    with pytest.raises(KeyRefused) as refused:
        api_keys.require_key(request_with(None), "run:read")
    assert (refused.value.status, refused.value.reason) == (401, "no_key")
    assert refused.value.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.django_db(transaction=True)
def test_it_works_the_same_in_async_views() -> None:
    cast = world.cast()
    token = world.key_of(cast.owner)

    async def ask() -> ApiKey:
        assert await api_keys.authenticate_async(request_with(None)) is None
        return await api_keys.require_async(request_with(f"Bearer {token}"), "run:read")

    assert asyncio.run(ask()).person_id == cast.owner.pk


@pytest.mark.case("C71")
def test_the_database_refuses_an_answering_key_without_a_person(cast: Cast) -> None:
    with pytest.raises(ValidationError, match="Only a key of a person"):
        api_keys.create_key(name="x", scopes=["ask:answer"], agent=cast.agent)
    with pytest.raises(IntegrityError, match="only_a_person_answers"), transaction.atomic():
        ApiKey.objects.create(
            name="x", prefix="p", hash="h", scopes=["run:read", "ask:answer"], agent=cast.agent
        )


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"scopes": []}, "scopes_are_known"),
        ({"scopes": ["everything"]}, "scopes_are_known"),
        ({"scopes": ["run:read"], "agent": None}, "a_key_belongs_to_someone"),
    ],
)
def test_the_database_refuses_a_key_that_means_nothing(
    cast: Cast, fields: dict[str, object], constraint: str
) -> None:
    whole = {"name": "x", "prefix": "p", "hash": "h", "agent": cast.agent, **fields}
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        ApiKey.objects.create(**whole)


@pytest.mark.parametrize("field", ["scopes", "hash", "name"])
def test_a_key_never_changes(cast: Cast, field: str) -> None:
    key, _ = world.made_key(cast.owner, scopes=("run:read",))
    value = ["run:read", "ask:answer"] if field == "scopes" else "other"
    with pytest.raises(ProgrammingError, match="Cannot"), transaction.atomic():
        ApiKey.objects.filter(pk=key.pk).update(**{field: value})


def test_a_key_is_kept_when_it_is_over(cast: Cast) -> None:
    key, _ = world.made_key(cast.owner)
    with pytest.raises(ProgrammingError, match="Cannot"), transaction.atomic():
        key.delete()


def test_a_person_gets_no_key_on_an_agent_of_somebody_else(cast: Cast) -> None:
    with pytest.raises(ValidationError, match="does not own"):
        api_keys.create_key(name="x", scopes=["run:read"], agent=cast.agent, person=cast.stranger)


def test_a_key_reaches_what_its_agent_and_its_person_share(cast: Cast) -> None:
    second = world.agent_of(cast.owner)
    mine = {cast.agent, second}
    assert set(api_keys.agents_of(world.made_key(cast.owner)[0])) == mine
    both, _ = world.made_key(cast.owner, cast.agent)
    assert set(api_keys.agents_of(both)) == {cast.agent}
    agents, _ = world.made_key(agent=cast.agent, scopes=("run:read",))
    assert set(api_keys.agents_of(agents)) == {cast.agent}
    cast.agent.owners.remove(cast.owner)
    assert set(api_keys.agents_of(both)) == set()


@pytest.mark.parametrize(
    "wrong",
    [
        ["x", "--scope", "run:read"],
        ["x", "--scope", "everything", "--owner", "OWNER"],
        ["x", "--scope", "", "--owner", "OWNER"],
        ["x", "--scope", "run:read", "--owner", "nobody"],
        ["x", "--scope", "run:read", "--agent", "nobody"],
        ["x", "--scope", "ask:answer", "--agent", "AGENT"],
        ["taken", "--scope", "run:read", "--owner", "OWNER"],
        ["", "--scope", "run:read", "--owner", "OWNER"],
    ],
)
def test_the_command_refuses_in_words(cast: Cast, wrong: list[str]) -> None:
    made("taken", "--scope", "run:read", "--owner", cast.owner.username)
    names = {"OWNER": cast.owner.username, "AGENT": cast.agent.slug}
    with pytest.raises(CommandError):
        made(*(names.get(part, part) for part in wrong))
    assert ApiKey.objects.count() == 1


def test_a_name_is_free_again_once_its_key_is_revoked(cast: Cast) -> None:
    made("bot", "--scope", "run:read", "--owner", cast.owner.username)
    call_command("key", "revoke", "bot", stdout=StringIO())
    made("bot", "--scope", "run:read", "--owner", cast.owner.username)
    with pytest.raises(CommandError, match="no active key"):
        call_command("key", "revoke", "other")


def test_the_list_shows_everything_but_secrets(cast: Cast) -> None:
    _, token = made("bot", "--scope", "run:read", "--agent", cast.agent.slug)
    out = StringIO()
    call_command("key", "list", stdout=out)
    assert "bot" in out.getvalue()
    assert f"agent {cast.agent.slug}" in out.getvalue()
    assert "never used" in out.getvalue()
    assert secret_of(token) not in out.getvalue()


def test_people_are_made_by_someone_known(cast: Cast) -> None:
    key, _ = api_keys.create_key(
        name="x", scopes=["run:read"], person=cast.owner, created_by=cast.colleague
    )
    assert User.objects.get(created_api_keys=key) == cast.colleague
