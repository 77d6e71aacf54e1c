from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.admin import world


@pytest.fixture
def root(db: None) -> User:
    return world.person("root", root=True)


@pytest.fixture
def as_root(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client
