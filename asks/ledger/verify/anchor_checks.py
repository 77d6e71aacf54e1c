"""Check that the anchors are chained, signed by a trusted key, and complete."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from agents.text.canonical_json import iso_moment
from asks.ledger import anchors, signing_key
from asks.ledger.chain import GENESIS, VERSION
from asks.ledger.verify.broken import BrokenLedger
from asks.ledger.verify.links import Heads
from asks.models import Anchor


@dataclass
class Anchors:
    """The result of reading all anchors: their number, the last hash, and every anchored head."""

    count: int = 0
    last: str = GENESIS
    heads: Heads = field(default_factory=dict)


def check_anchors(*, noted: dict[int, str], expect: str = "") -> Anchors:
    """Check every anchor and return their heads. Raises BrokenLedger.

    ``noted`` holds the anchors in this machine's log as {number: hash}; read it before the database.
    ``expect`` is the hash of an anchor that must exist.
    """
    found, hashes = Anchors(), {}
    trusted = signing_key.trusted_keys()
    for anchor in Anchor.objects.order_by("number").iterator():
        _take(found, anchor, trusted)
        hashes[anchor.number] = anchor.hash
    for number, digest in sorted(noted.items()):
        if hashes.get(number) != digest:
            raise _broken(number, f"this machine signed it as {digest}, and that anchor is missing")
    if expect and expect not in hashes.values():
        raise BrokenLedger("anchors", f"the expected anchor {expect} is missing")
    return found


def _take(found: Anchors, anchor: Anchor, trusted: frozenset[str]) -> None:
    body = _checked(anchor, trusted)
    if (body["v"], body["number"], body["prev"]) != (VERSION, found.count + 1, found.last):
        raise _broken(anchor.number, f"it does not follow anchor {found.count}")
    for chain, (seq, digest) in body["heads"].items():
        found.heads.setdefault(chain, {})[seq] = digest
    found.count, found.last = found.count + 1, anchor.hash


def _checked(anchor: Anchor, trusted: frozenset[str]) -> dict[str, Any]:
    text = anchor.body.encode()
    if hashlib.sha256(text).hexdigest() != anchor.hash:
        raise _broken(anchor.number, "its body does not match its hash")
    if anchor.public_key not in trusted:
        why = f"the key {anchor.public_key} is not trusted"
        raise _broken(
            anchor.number, f"{why}; add the keys of other machines to LEDGER_TRUSTED_KEYS"
        )
    signed = signing_key.is_signed(
        anchors.PREFIX + text, signature=anchor.signature, public_key=anchor.public_key
    )
    if not signed:
        raise _broken(anchor.number, "its signature is not valid")
    body: dict[str, Any] = json.loads(text)
    if (body["number"], body["at"]) != (anchor.number, iso_moment(anchor.at)):
        raise _broken(anchor.number, "its columns do not match its body")
    return body


def _broken(number: int, why: str) -> BrokenLedger:
    return BrokenLedger(f"anchor {number}", why)
