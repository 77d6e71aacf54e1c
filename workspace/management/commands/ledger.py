from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from asks.ledger import anchors, bundle, signing_key, verify
from workspace.management.database_command import DatabaseCommand


class Command(DatabaseCommand):
    help = "Verify, anchor and export the ledger of decisions: ledger verify|anchor|export|key"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(
            dest="verb", required=True, metavar="verify|anchor|export|key"
        )
        verify = verbs.add_parser(
            "verify", help="verify the ledger, or name the first broken record"
        )
        verify.add_argument(
            "--expect", default="", metavar="HASH", help="the hash of an anchor that must exist"
        )
        verbs.add_parser("anchor", help="sign the current heads of the chains")
        export = verbs.add_parser("export", help="write a signed bundle for another machine")
        export.add_argument("file", type=Path)
        verbs.add_parser("key", help="print the public key that verifies anchors and bundles")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, options["verb"])(options)

    def verify(self, options: dict[str, Any]) -> None:
        try:
            proved = verify.verify_ledger(_Progress(), expect=options["expect"])
        except verify.BrokenLedger as broken:
            raise CommandError(f"The ledger is broken at {broken}.") from broken
        self.stdout.write(
            f"The ledger is valid: {proved.records} records in {proved.chains} chains, "
            f"{proved.anchored} of them under {proved.anchors} anchors."
        )
        if proved.anchors:
            self.stdout.write(f"Last anchor {proved.anchors}: {proved.last_anchor}")

    def anchor(self, options: dict[str, Any]) -> None:
        anchor = anchors.write_anchor()
        if anchor is None:
            self.stdout.write("Nothing changed since the last anchor.")
            return
        self.stdout.write(f"Anchor {anchor.number}: {anchor.hash}")

    def export(self, options: dict[str, Any]) -> None:
        try:
            manifest = bundle.export_bundle(options["file"])
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.") from error
        lines = {name: facts["lines"] for name, facts in manifest["files"].items()}
        self.stdout.write(
            f"{options['file']}: {lines['records.jsonl']} records, {lines['anchors.jsonl']} anchors, "
            f"signed with {manifest['public_key']}."
        )
        self.stdout.write(
            "Verify it on another machine: python3 verify_ledger.py "
            f"{options['file'].name} --key {manifest['public_key']}"
        )

    def key(self, options: dict[str, Any]) -> None:
        self.stdout.write(signing_key.public_key_of(signing_key.signing_key()))


class _Progress:
    """Print the progress to stderr, at most twice a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        if done < total and time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.5
        sys.stderr.write(f"{done} of {total} records\n")
        sys.stderr.flush()
