"""Signed anchors: what stands before one can be neither dropped nor rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from asks.ledger import anchors, signing_key, verify
from asks.ledger.chain import Entry, Head, record_after
from asks.models import Anchor, LedgerRecord
from tests.ledger.tampering import execute, found_broken, other, overwrite, undone
from tests.ledger.world import decided

pytestmark = pytest.mark.django_db


@pytest.fixture
def anchored(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> Anchor:
    """One verdict in each of two sessions, and an anchor over both."""
    decided()
    decided()
    with django_capture_on_commit_callbacks(execute=True):
        made = anchors.write_anchor()
    assert made is not None
    verify.verify_ledger()
    return made


def test_an_anchor_names_every_head_and_is_signed(anchored: Anchor) -> None:
    heads = json.loads(anchored.body)["heads"]
    records = LedgerRecord.objects.values_list("chain", "seq", "hash")
    assert heads == {chain: [seq, digest] for chain, seq, digest in records}
    proved = verify.verify_ledger()
    assert (proved.records, proved.anchored, proved.anchors) == (2, 2, 1)


def test_the_next_anchor_names_only_what_moved(anchored: Anchor) -> None:
    assert anchors.write_anchor() is None
    (verdict,) = decided()
    second = anchors.write_anchor()
    assert second is not None
    body = json.loads(second.body)
    assert body["prev"] == anchored.hash
    assert list(body["heads"]) == [f"session:{verdict.ask.session_id}"]


@pytest.mark.usefixtures("anchored")
def test_a_chain_that_is_gone_with_its_rows_is_missed() -> None:
    """Everything about the last session is deleted, its rows too: only the anchor knows."""
    record = LedgerRecord.objects.order_by("-chain")[0]
    execute(LedgerRecord, "DELETE FROM {table} WHERE chain = %s", record.chain)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == f"{record.chain} 1"
    assert "anchor" in found.value.why


@pytest.mark.usefixtures("anchored")
def test_a_chain_that_was_written_anew_is_found() -> None:
    """A whole new chain, well hashed, in place of the old: no link is broken."""
    old = LedgerRecord.objects.order_by("chain")[0]
    facts = json.loads(old.body)["facts"] | {"waited_seconds": 86_400}
    new = record_after(Head(old.chain), Entry(old.kind, old.subject, old.actor, facts), old.at)
    execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", old.pk)
    new.save(force_insert=True)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.why == "it does not match the anchor that signed it"


@pytest.mark.parametrize("column", ["number", "at", "hash", "public_key", "signature", "body"])
def test_a_changed_anchor_is_found(anchored: Anchor, column: str) -> None:
    for place in range(0, 128, 9):
        with undone():
            overwrite(anchored, column, other(getattr(anchored, column), place, 1))
            with found_broken():
                verify.verify_ledger()


@pytest.mark.parametrize("column", ["public_key", "signature"])
def test_hex_in_another_spelling_is_a_change(anchored: Anchor, column: str) -> None:
    overwrite(anchored, column, getattr(anchored, column).upper())
    with found_broken():
        verify.verify_ledger()


def test_a_dropped_anchor_is_known_to_the_machine_that_made_it(anchored: Anchor) -> None:
    execute(Anchor, "DELETE FROM {table} WHERE number = %s", anchored.number)
    with found_broken() as found:
        verify.verify_ledger()
    assert found.value.where == "anchor 1"


def test_a_dropped_anchor_is_missed_by_whoever_kept_its_hash(anchored: Anchor, state: Path) -> None:
    verify.verify_ledger(expect=anchored.hash)
    execute(Anchor, "DELETE FROM {table} WHERE number = %s", anchored.number)
    (state / anchors.LOG).unlink()
    verify.verify_ledger()
    with found_broken() as found:
        verify.verify_ledger(expect=anchored.hash)
    assert anchored.hash in found.value.why


@pytest.mark.usefixtures("anchored")
def test_a_forged_anchor_is_not_trusted(state: Path, settings: Settings, tmp_path: Path) -> None:
    """Whoever owns the database but not the state folder signs with a key of their own."""
    settings.STATE_DIR = tmp_path / "elsewhere"
    decided()
    forged = anchors.write_anchor()
    assert forged is not None
    settings.STATE_DIR = state
    with found_broken() as found:
        verify.verify_ledger()
    assert "is not trusted" in found.value.why
    settings.LEDGER_TRUSTED_KEYS = [forged.public_key]
    assert verify.verify_ledger().anchors == 2


def test_anchors_come_in_their_time(settings: Settings) -> None:
    decided()
    assert anchors.write_anchor_if_due() is not None
    decided()
    assert anchors.write_anchor_if_due() is None
    settings.LEDGER_ANCHOR_SECONDS = 0
    assert anchors.write_anchor_if_due() is not None
    assert anchors.write_anchor_if_due() is None


def test_an_unwritable_state_folder_does_not_stop_the_worker(
    settings: Settings, tmp_path: Path
) -> None:
    decided()
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    settings.STATE_DIR = blocked
    assert anchors.write_anchor_if_due() is None


def test_the_key_is_made_once_and_is_private(state: Path) -> None:
    first = signing_key.public_key_of(signing_key.signing_key())
    assert signing_key.public_key_of(signing_key.signing_key()) == first
    assert (state / signing_key.FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in state.iterdir()] == [signing_key.FILE]


def test_a_chain_is_proved_by_itself(anchored: Anchor) -> None:
    chain = next(iter(json.loads(anchored.body)["heads"]))
    assert verify.verify_chain(chain) == 1
    record = LedgerRecord.objects.get(chain=chain)
    execute(LedgerRecord, "DELETE FROM {table} WHERE hash = %s", record.pk)
    with found_broken():
        verify.verify_chain(chain)
