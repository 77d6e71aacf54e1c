"""`manage.py ledger`: what it prints, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from asks.models import LedgerRecord
from tests.ledger.tampering import execute
from tests.ledger.world import decided

PROJECT = Path(__file__).resolve().parents[2]


def ledger(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "ledger", *words],
        cwd=PROJECT,
        env={**os.environ, "NEEDS_YOU_STATE": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("database")
def test_it_proves_anchors_exports_and_finds_what_was_broken(state: Path, tmp_path: Path) -> None:
    decided()
    state.mkdir()
    key = ledger(state, "key").stdout.strip()
    anchored = ledger(state, "anchor")
    assert anchored.stdout.startswith("Anchor 1: ")
    kept = anchored.stdout.split()[-1]
    held = ledger(state, "verify", "--expect", kept)
    assert (held.returncode, "1 of 1 records" in held.stderr) == (0, True)
    assert "1 records in 1 chains, 1 of them under 1 anchors" in held.stdout
    exported = ledger(state, "export", str(tmp_path / "out.zip"))
    assert f"--key {key}" in exported.stdout
    record = LedgerRecord.objects.get()
    execute(LedgerRecord, "UPDATE {table} SET body = replace(body, 'refund', 'reward')")
    broken = ledger(state, "verify")
    assert broken.returncode == 1
    assert f"broken at {record.chain} 1: " in broken.stderr
