#!/usr/bin/env python3
"""Verify an exported ledger of Needs You on any machine.

    python3 verify_ledger.py ledger.zip --key PUBLIC_KEY

Needs Python 3.11 and the `cryptography` package, but not Needs You. PUBLIC_KEY is the output of
`manage.py ledger key` on the machine that made the bundle. Get it from somebody you trust, not from
the bundle. Pass --key once per machine that signed anchors, first the one that made the bundle.
Exit code 0: the ledger is valid. 1: it is not; the first error is named. 2: wrong usage.
"""

import argparse
import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FORMAT = "needs-you ledger 1"
MEMBERS = ["anchors.jsonl", "manifest.json", "manifest.sig", "records.jsonl"]
GENESIS = "0" * 64

Heads = dict[str, dict[int, str]]


class Broken(Exception):
    """The first error in the bundle, as a sentence."""


def main() -> int:
    """Verify the bundle of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Verify an exported ledger of Needs You.")
    parser.add_argument("bundle")
    parser.add_argument("--key", action="append", required=True, help="a public key you trust, hex")
    options = parser.parse_args()
    try:
        with zipfile.ZipFile(options.bundle) as bundle:
            result = check(bundle, options.key)
    except Broken as broken:
        print(f"BROKEN: {broken}", file=sys.stderr)
        return 1
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
        print(f"BROKEN: this is not a readable bundle: {error}", file=sys.stderr)
        return 1
    print(result)
    return 0


def check(bundle: zipfile.ZipFile, keys: list[str]) -> str:
    """Check manifest, anchors and records; return a sentence with the numbers. Raises Broken."""
    if sorted(bundle.namelist()) != MEMBERS:
        raise Broken(f"the bundle must contain exactly {', '.join(MEMBERS)}")
    files = check_manifest(bundle, keys[0])
    heads, anchors = check_anchors(lines(bundle, "anchors.jsonl", files), keys)
    records, chains = check_records(lines(bundle, "records.jsonl", files), heads)
    return f"The ledger is valid: {records} records in {chains} chains, {anchors} anchors."


def check_manifest(bundle: zipfile.ZipFile, key: str) -> dict[str, Any]:
    """Check the signature of the manifest; return its files."""
    signed = bundle.read("manifest.json")
    signature = bundle.read("manifest.sig").decode()
    if not is_signed(b"needs-you ledger bundle v1\n" + signed, signature, key):
        raise Broken("the manifest is not signed with the first --key")
    manifest = json.loads(signed)
    if manifest["format"] != FORMAT:
        raise Broken(f"this script reads {FORMAT!r}, not {manifest['format']!r}")
    files: dict[str, Any] = manifest["files"]
    return files


def lines(bundle: zipfile.ZipFile, name: str, files: dict[str, Any]) -> Iterator[bytes]:
    """Yield the lines of a member, then compare them with the manifest."""
    digest, count = hashlib.sha256(), 0
    with bundle.open(name) as member:
        for line in member:
            digest.update(line)
            count += 1
            yield line.removesuffix(b"\n")
    if files[name] != {"sha256": digest.hexdigest(), "lines": count}:
        raise Broken(f"{name} does not match the manifest")


def check_anchors(anchors: Iterator[bytes], keys: list[str]) -> tuple[Heads, int]:
    """Check the anchors; return the heads that they sign, and the number of anchors."""
    heads: Heads = {}
    count, last = 0, GENESIS
    for line in anchors:
        anchor = json.loads(line)
        text, count = anchor["body"].encode(), count + 1
        if anchor["public_key"] not in keys:
            raise Broken(
                f"anchor {count}: signed with {anchor['public_key']}, which is not a --key"
            )
        if not is_signed(
            b"needs-you ledger anchor v1\n" + text, anchor["signature"], anchor["public_key"]
        ):
            raise Broken(f"anchor {count}: its signature is not valid")
        body = json.loads(text)
        if (body["v"], body["number"], body["prev"]) != (1, count, last):
            raise Broken(f"anchor {count}: it does not follow the previous one")
        for chain, (seq, head) in body["heads"].items():
            heads.setdefault(chain, {})[seq] = head
        last = hashlib.sha256(text).hexdigest()
    return heads, count


def check_records(records: Iterator[bytes], heads: Heads) -> tuple[int, int]:
    """Check the records against `heads`; return the number of records and chains."""
    ends: dict[str, tuple[int, str]] = {}
    count = 0
    for line in records:
        body, digest = json.loads(line), hashlib.sha256(line).hexdigest()
        chain, seq = body["chain"], body["seq"]
        before, last = ends.get(chain, (0, GENESIS))
        if (body["v"], seq, body["prev"]) != (1, before + 1, last):
            raise Broken(f"{chain} {seq}: it does not follow record {before} of its chain")
        if heads.get(chain, {}).pop(seq, digest) != digest:
            raise Broken(f"{chain} {seq}: it differs from what an anchor signed")
        ends[chain] = (seq, digest)
        count += 1
    for chain, left in sorted(heads.items()):
        if left:
            raise Broken(f"{chain} {min(left)}: an anchor names this record, and it is gone")
    return count, len(ends)


def is_signed(message: bytes, signature: str, key: str) -> bool:
    """Return whether an Ed25519 signature is valid. Hex must be lower case without spaces."""
    try:
        raw_key, raw = bytes.fromhex(key), bytes.fromhex(signature)
        if raw_key.hex() != key or raw.hex() != signature:
            return False
        Ed25519PublicKey.from_public_bytes(raw_key).verify(raw, message)
    except (ValueError, InvalidSignature):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
