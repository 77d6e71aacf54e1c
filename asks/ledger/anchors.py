"""Sign the heads of the ledger's chains, so that earlier records cannot be rewritten unnoticed.

An anchor contains the head of every chain that has grown since the previous anchor, and the hash
of the previous anchor. It is signed with the key in the state folder. Its hash is also appended to
``ledger_anchors.log`` in that folder, so that somebody who controls only the database cannot remove
the newest anchors.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from agents.db.expressions import database_now
from agents.text.canonical_json import canonical_json, iso_moment
from asks.ledger import signing_key
from asks.ledger.chain import GENESIS, VERSION
from asks.models import Anchor

log = logging.getLogger(__name__)

LOG = "ledger_anchors.log"
PREFIX = b"needs-you ledger anchor v1\n"
#: A record may be committed this long after its ``at``; no transaction lasts longer.
OVERLAP = timedelta(hours=1)

_HEADS = """
SELECT DISTINCT ON (chain) chain, seq, hash FROM asks_ledgerrecord
WHERE chain IN (SELECT DISTINCT chain FROM asks_ledgerrecord WHERE at >= %s)
ORDER BY chain, seq DESC
"""


def write_anchor_if_due() -> Anchor | None:
    """Write an anchor if the last is older than ``LEDGER_ANCHOR_SECONDS`` and a chain has grown.

    The worker calls this on every tick. It is cheap and safe with any number of workers. An OSError
    (from the key file) is logged, not raised.
    """
    try:
        last = Anchor.objects.order_by("-number").first()
        due = timedelta(seconds=settings.LEDGER_ANCHOR_SECONDS)
        if last is not None and last.at + due > database_now():
            return None
        return write_anchor()
    except OSError:
        log.exception("The ledger could not be anchored.")
        return None


@transaction.atomic
def write_anchor() -> Anchor | None:
    """Sign the current heads of the chains.

    Return None if no chain has grown or if another worker is writing an anchor.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext('asks.ledger.anchors'))")
        if not cursor.fetchone()[0]:
            return None
    last = Anchor.objects.order_by("-number").first()
    heads = _moved_heads(last)
    if not heads:
        return None
    made = _sign(last, heads)
    made.save(force_insert=True)
    transaction.on_commit(lambda: _note(made))
    return made


def _moved_heads(last: Anchor | None) -> dict[str, list[Any]]:
    """Return the heads that no anchor contains yet, as {chain: [seq, hash]}."""
    since = last.at - OVERLAP if last else None
    with connection.cursor() as cursor:
        cursor.execute(_HEADS, [since or "-infinity"])
        heads = {chain: [seq, digest] for chain, seq, digest in cursor.fetchall()}
    recent = Anchor.objects.filter(at__gte=since) if since else Anchor.objects.none()
    for body in recent.values_list("body", flat=True):
        for chain, head in json.loads(body)["heads"].items():
            if heads.get(chain) == head:
                del heads[chain]
    return heads


def _sign(last: Anchor | None, heads: dict[str, list[Any]]) -> Anchor:
    key, at = signing_key.signing_key(), database_now()
    number = last.number + 1 if last else 1
    body = canonical_json(
        {
            "v": VERSION,
            "number": number,
            "prev": last.hash if last else GENESIS,
            "at": iso_moment(at),
            "heads": heads,
        }
    )
    return Anchor(
        number=number,
        at=at,
        hash=hashlib.sha256(body).hexdigest(),
        public_key=signing_key.public_key_of(key),
        signature=key.sign(PREFIX + body).hex(),
        body=body.decode(),
    )


def _note(made: Anchor) -> None:
    with _log_path().open("a") as file:
        file.write(f"{made.number} {made.hash}\n")


def _log_path() -> Path:
    return Path(settings.STATE_DIR) / LOG


def noted_heads() -> dict[int, str]:
    """Return the anchors in this machine's ``ledger_anchors.log``, as {number: hash}."""
    try:
        lines = _log_path().read_text().splitlines()
    except FileNotFoundError:
        return {}
    pairs = [line.split() for line in lines]
    return {int(pair[0]): pair[1] for pair in pairs if len(pair) == 2 and pair[0].isdigit()}
