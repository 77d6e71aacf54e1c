"""A newcomer signs in by the link that `manage.py up` printed."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from workspace.accounts.sign_in_links import issue_path

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_link_signs_in_once_and_only_by_the_button(page: Page, owner: User) -> None:
    path = issue_path(owner)

    page.goto(path)
    page.goto(path)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url("/")

    page.context.clear_cookies()
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 410
    expect(page.get_by_role("heading")).to_have_text("This link does not work")
