"""The audit of the ledger: to read, to filter, to take away, and never to change."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from asks import answering
from asks.admin import exports
from asks.ledger import anchors
from asks.models import Anchor, LedgerRecord, Refusal, SignedFile, Verdict
from tests.ledger.tampering import overwrite
from tests.ledger.world import Draft, agent_of, ask_of, decide, echo_of, home, person

pytestmark = pytest.mark.django_db
PAGES = ("ledgerrecord", "anchor", "signedfile")


@pytest.fixture
def as_auditor() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def fill(count: int) -> None:
    owner = person()
    for ask in ask_of(home(agent_of(owner)), owner, *(Draft() for _ in range(count))):
        answering.answer_ask(ask_id=ask.pk, by=owner, option="maybe", echo=echo_of(ask))
        verdict = decide(ask, owner, "no", "=1+1")
        SignedFile.objects.create(digest=f"{ask.pk:064}", name="a.json", why="-", verdict=verdict)
        anchors.write_anchor()


def take(client: Client, page: str, action: str, **words: str) -> Any:
    """Choose every row of a list and export it."""
    chosen = [
        str(row.pk) for row in client.get(f"/admin/asks/{page}/", words).context["cl"].result_list
    ]
    return client.post(
        f"/admin/asks/{page}/?{'&'.join(f'{name}={value}' for name, value in words.items())}",
        {"action": action, "_selected_action": chosen, "select_across": "1"},
    )


def test_lists_cost_the_same_however_long_they_are(as_auditor: Client) -> None:
    found = []
    for count in (1, 20):
        fill(count)
        for page in PAGES:
            as_auditor.get(f"/admin/asks/{page}/")
            with CaptureQueriesContext(connection) as queries:
                assert as_auditor.get(f"/admin/asks/{page}/").status_code == 200
            found.append((page, len(queries)))
    assert found[:3] == found[3:]
    assert max(count for _, count in found) <= 8


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_editable(as_auditor: Client, page: str) -> None:
    fill(1)
    models = {"ledgerrecord": LedgerRecord, "anchor": Anchor, "signedfile": SignedFile}
    row = models[page]._default_manager.earliest("pk")
    before = list(models[page]._default_manager.values())
    address = f"/admin/asks/{page}/"
    for path in ("add/", f"{row.pk}/change/", f"{row.pk}/delete/"):
        assert as_auditor.post(f"{address}{path}", {"body": "{}", "post": "yes"}).status_code == 403
    as_auditor.post(address, {"action": "delete_selected", "_selected_action": [row.pk]})
    assert list(models[page]._default_manager.values()) == before


def test_a_record_says_whether_it_holds(as_auditor: Client) -> None:
    fill(1)
    record = LedgerRecord.objects.get(kind="verdict")
    page = f"/admin/asks/ledgerrecord/{record.pk}/change/"
    assert "Yes. Anchor 1 covers it." in as_auditor.get(page).content.decode()
    overwrite(Verdict.objects.get(), "text", "forged")
    assert "No. It is broken at session:" in as_auditor.get(page).content.decode()


def test_records_are_found_by_kind_and_by_words(as_auditor: Client) -> None:
    fill(2)
    listed = as_auditor.get("/admin/asks/ledgerrecord/", {"kind": "refusal"}).context["cl"]
    assert listed.result_count == 2
    digest = LedgerRecord.objects.first()
    assert digest is not None
    listed = as_auditor.get("/admin/asks/ledgerrecord/", {"q": digest.hash}).context["cl"]
    assert listed.result_count == 1


def test_decisions_as_csv(as_auditor: Client) -> None:
    fill(2)
    response = take(as_auditor, "verdict", "export_csv")
    assert response["Content-Disposition"] == 'attachment; filename="verdicts.csv"'
    read = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(read) == 2
    assert read[0]["question"] == "May I refund order 1182?"
    assert read[0]["operation"] == "refund"
    assert json.loads(read[0]["params"])["amount"] == "420.00"
    assert read[0]["words"] == "'=1+1"
    assert int(read[0]["waited_seconds"]) >= 0


def test_decisions_as_json(as_auditor: Client) -> None:
    fill(1)
    (row,) = json.loads(take(as_auditor, "verdict", "export_json").content)
    verdict = Verdict.objects.get()
    assert (row["words"], row["option"], row["by"]) == ("=1+1", "no", verdict.decided_by.username)
    assert row["action_hash"] == verdict.ask.gate.action_hash


@pytest.mark.parametrize("page", ["refusal", "ledgerrecord", "anchor", "signedfile"])
def test_the_other_lists_are_exported_too(as_auditor: Client, page: str) -> None:
    fill(2)
    answering.answer_ask(ask_id=10**9, by=person(), option="yes")
    rows = json.loads(take(as_auditor, page, "export_json").content)
    read = list(csv.DictReader(io.StringIO(take(as_auditor, page, "export_csv").content.decode())))
    assert len(rows) == len(read) > 0
    assert list(rows[0]) == list(read[0])


def test_what_is_filtered_is_what_is_exported(as_auditor: Client) -> None:
    fill(2)
    rows = json.loads(take(as_auditor, "ledgerrecord", "export_json", kind="refusal").content)
    assert [row["kind"] for row in rows] == ["refusal", "refusal"]


def test_too_many_rows_are_refused_in_words(
    as_auditor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(2)
    monkeypatch.setattr(exports, "MOST_ROWS", 1)
    response = take(as_auditor, "verdict", "export_csv")
    assert response.status_code == 302
    assert "filter the list first" in as_auditor.get(response["Location"]).content.decode()


def test_an_export_is_one_query(as_auditor: Client) -> None:
    del as_auditor
    fill(5)
    for model in (Verdict, Refusal, LedgerRecord):
        with CaptureQueriesContext(connection) as queries:
            assert exports.as_csv(model._default_manager.all()).count("\n") >= 6
        assert len(queries) == 1


def test_only_who_may_view_may_export() -> None:
    fill(1)
    client = Client()
    client.force_login(User.objects.create_user("staff", is_staff=True))
    chosen = [str(Verdict.objects.get().pk)]
    response = client.post(
        "/admin/asks/verdict/", {"action": "export_csv", "_selected_action": chosen}
    )
    assert response.status_code == 403
