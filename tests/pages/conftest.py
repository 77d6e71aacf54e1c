"""Who looks at the pages: an owner, a colleague who owns the same agent, and a stranger."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.pages import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(db: None) -> User:
    return world.person("olga")


@pytest.fixture
def colleague(db: None) -> User:
    return world.person("carl")


@pytest.fixture
def stranger(db: None) -> User:
    return world.person("sam")


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def as_owner(owner: User) -> Client:
    return signed_in(owner)


@pytest.fixture
def as_colleague(colleague: User) -> Client:
    return signed_in(colleague)


@pytest.fixture
def as_stranger(stranger: User) -> Client:
    return signed_in(stranger)
