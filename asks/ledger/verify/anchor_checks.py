"""Each anchor follows the one before it, is signed by a key we trust, and none is missing."""

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
    """What all anchors together say."""

    count: int = 0
    last: str = GENESIS
    heads: Heads = field(default_factory=dict)


def check_anchors(*, noted: dict[int, str], expect: str = "") -> Anchors:
    """Every anchor, checked. Raises BrokenLedger.

    ``noted`` are those this machine wrote down, read before the database; ``expect`` is a hash that
    must be among them.
    """
    found, hashes = Anchors(), {}
    trusted = signing_key.trusted_keys()
    for anchor in Anchor.objects.order_by("number").iterator():
        _take(found, anchor, trusted)
        hashes[anchor.number] = anchor.hash
    for number, digest in sorted(noted.items()):
        if hashes.get(number) != digest:
            raise _broken(number, f"this machine signed it as {digest}, and that is gone")
    if expect and expect not in hashes.values():
        raise BrokenLedger("anchors", f"the anchor {expect} that you expect is not among them")
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
        raise _broken(anchor.number, "its body is not what its hash says")
    if anchor.public_key not in trusted:
        why = f"nobody here trusts the key {anchor.public_key}"
        raise _broken(anchor.number, f"{why}; LEDGER_TRUSTED_KEYS names other machines' keys")
    signed = signing_key.is_signed(
        anchors.PREFIX + text, signature=anchor.signature, public_key=anchor.public_key
    )
    if not signed:
        raise _broken(anchor.number, "its signature is not valid")
    body: dict[str, Any] = json.loads(text)
    if (body["number"], body["at"]) != (anchor.number, iso_moment(anchor.at)):
        raise _broken(anchor.number, "its columns do not say what its body says")
    return body


def _broken(number: int, why: str) -> BrokenLedger:
    return BrokenLedger(f"anchor {number}", why)
