"""What any server may answer, and what it is taken for, whichever protocol it speaks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.protocols.common import http_client
from workspace.protocols.common.http_client import LARGEST_SHORT, LONGEST_WAIT, NoKey


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("-5", 0.0),
        ("1e99", LONGEST_WAIT),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
    ],
)
def test_retry_after_is_seconds_within_reason(said: str, seconds: float | None) -> None:
    assert http_client.retry_after(said) == seconds


def test_retry_after_may_be_a_date() -> None:
    said = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert http_client.retry_after(said) == pytest.approx(89, abs=2)


@given(st.text(max_size=40))
def test_no_retry_after_breaks_anything(said: str) -> None:
    found = http_client.retry_after(said)
    assert found is None or 0 <= found <= LONGEST_WAIT


@pytest.mark.parametrize(
    ("status", "may_have_taken"),
    [(408, True), (425, False), (429, False), (500, True), (502, True), (503, False), (504, True)],
)
def test_a_server_that_cannot_now_says_whether_it_took_what_it_was_sent(
    status: int, may_have_taken: bool
) -> None:
    away = http_client.away_by_status(httpx.Response(status, headers={"Retry-After": "7"}), "No.")
    assert away is not None
    assert (str(away), away.retry_after, away.may_have_taken) == ("No.", 7.0, may_have_taken)


@pytest.mark.parametrize("status", [200, 202, 400, 401, 403, 404, 409, 422])
def test_other_statuses_are_no_outage(status: int) -> None:
    assert http_client.away_by_status(httpx.Response(status), "No.") is None


def test_a_key_comes_from_the_environment_and_a_missing_one_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THEIR_KEY", "s3cret")
    assert http_client.bearer("THEIR_KEY") == {"Authorization": "Bearer s3cret"}
    assert http_client.bearer("") == {}
    monkeypatch.delenv("THEIR_KEY")
    with pytest.raises(NoKey, match="has no THEIR_KEY"):
        http_client.bearer("THEIR_KEY")


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_an_empty_one(raw: bytes) -> None:
    assert http_client.read_object(raw) == {}


async def test_a_reply_that_never_ends_is_read_no_further_than_needed() -> None:
    async def pieces() -> object:
        while True:
            yield b"x" * 1024

    reply = httpx.Response(500, content=pieces())  # type: ignore[arg-type]
    assert LARGEST_SHORT < len(await http_client.shorten_reply(reply)) <= LARGEST_SHORT + 65_536
