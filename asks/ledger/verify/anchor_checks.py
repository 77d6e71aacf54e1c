"""Check that the anchors are chained, signed by a trusted key, and complete."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

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
    result, hashes = Anchors(), {}
    trusted = signing_key.trusted_keys()
    for anchor in Anchor.objects.order_by("number").iterator():
        _take(result, anchor, trusted)
        hashes[anchor.number] = anchor.hash
    for number, digest in sorted(noted.items()):
        if hashes.get(number) != digest:
            raise _broken(
                number,
                _("this machine signed it as %(digest)s, and that anchor is missing")
                % {"digest": digest},
            )
    if expect and expect not in hashes.values():
        raise BrokenLedger(
            "anchors", _("the expected anchor %(digest)s is missing") % {"digest": expect}
        )
    return result


def _take(result: Anchors, anchor: Anchor, trusted: frozenset[str]) -> None:
    body = _checked(anchor, trusted)
    if (body["v"], body["number"], body["prev"]) != (VERSION, result.count + 1, result.last):
        raise _broken(
            anchor.number, _("it does not follow anchor %(number)d") % {"number": result.count}
        )
    for chain, (seq, digest) in body["heads"].items():
        result.heads.setdefault(chain, {})[seq] = digest
    result.count, result.last = result.count + 1, anchor.hash


def _checked(anchor: Anchor, trusted: frozenset[str]) -> dict[str, Any]:
    text = anchor.body.encode()
    if hashlib.sha256(text).hexdigest() != anchor.hash:
        raise _broken(anchor.number, _("its body does not match its hash"))
    if anchor.public_key not in trusted:
        why = _(
            "the key %(key)s is not trusted; add the keys of other machines to LEDGER_TRUSTED_KEYS"
        )
        raise _broken(anchor.number, why % {"key": anchor.public_key})
    signed = signing_key.is_signed(
        anchors.PREFIX + text, signature=anchor.signature, public_key=anchor.public_key
    )
    if not signed:
        raise _broken(anchor.number, _("its signature is not valid"))
    body: dict[str, Any] = json.loads(text)
    if (body["number"], body["at"]) != (anchor.number, iso_moment(anchor.at)):
        raise _broken(anchor.number, _("its columns do not match its body"))
    return body


def _broken(number: int, why: str) -> BrokenLedger:
    return BrokenLedger(f"anchor {number}", why)
