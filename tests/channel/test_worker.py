"""A worker by itself: a signed file takes effect, and the ledger is anchored."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from asks.ledger import verify
from asks.models import Anchor, Verdict
from tests.channel.signing import Channel
from tests.channel.test_concurrency import gated
from tests.dispatch.world import Worker, eventually
from tests.ledger.conftest import database

__all__ = ["database"]


@pytest.mark.usefixtures("database")
def test_a_worker_reads_the_channel_and_anchors_the_ledger(
    channel: Channel, settings: Settings, tmp_path: Path
) -> None:
    ask = gated()
    channel.decide(ask)
    settings.STATE_DIR = tmp_path / "state"
    environment = {
        "NEEDS_YOU_STATE": str(tmp_path / "state"),
        "SIGNED_CHANNEL": str(channel.folder),
        "SIGNED_CHANNEL_ALLOWED_SIGNERS": str(channel.allowed),
        "LEDGER_ANCHOR_SECONDS": "0",
    }
    worker = Worker(log=tmp_path / "worker.log", env=environment)
    worker.start()
    try:
        eventually(Verdict.objects.filter(ask=ask, via="signed").exists, "the signature decided")
        eventually(Anchor.objects.exists, "an anchor stands over it")
    finally:
        worker.end()
    assert verify.verify_ledger().anchored >= 1
