"""Export the ledger as one signed file that ``tools/verify_ledger.py`` checks on another machine.

The file is a zip with four members:

- ``records.jsonl``: the body of one record per line, byte for byte as it was hashed.
- ``anchors.jsonl``: {"body", "public_key", "signature"} per line.
- ``manifest.json``: canonical JSON with the SHA-256 and the line count of both files.
- ``manifest.sig``: the Ed25519 signature of the manifest, in hex.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.db import transaction

from agents.db.expressions import database_now
from agents.text.canonical_json import canonical_json, iso_moment
from asks.ledger import signing_key
from asks.ledger.verify import whole
from asks.models import Anchor

FORMAT = "needs-you ledger 1"
PREFIX = b"needs-you ledger bundle v1\n"


def export_bundle(to: Path) -> dict[str, Any]:
    """Write the bundle and return its manifest.

    Never overwrites a file. Raises OSError, in particular FileExistsError.
    """
    key = signing_key.signing_key()
    with to.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        with transaction.atomic():
            whole.take_snapshot()
            files = {
                "records.jsonl": _write(bundle, "records.jsonl", _records()),
                "anchors.jsonl": _write(bundle, "anchors.jsonl", _anchors()),
            }
            at = iso_moment(database_now())
        manifest = {
            "format": FORMAT,
            "made_at": at,
            "public_key": signing_key.public_key_of(key),
            "files": files,
        }
        signed = canonical_json(manifest)
        bundle.writestr("manifest.json", signed)
        bundle.writestr("manifest.sig", key.sign(PREFIX + signed).hex())
    return manifest


def _records() -> Iterator[bytes]:
    return (record.body.encode() for record in whole.records())


def _anchors() -> Iterator[bytes]:
    for anchor in Anchor.objects.order_by("number").iterator():
        line = {
            "body": anchor.body,
            "public_key": anchor.public_key,
            "signature": anchor.signature,
        }
        yield json.dumps(line, sort_keys=True).encode()


def _write(bundle: zipfile.ZipFile, name: str, lines: Iterable[bytes]) -> dict[str, Any]:
    digest, count = hashlib.sha256(), 0
    with bundle.open(name, "w", force_zip64=True) as member:
        for line in lines:
            member.write(line + b"\n")
            digest.update(line + b"\n")
            count += 1
    return {"sha256": digest.hexdigest(), "lines": count}
