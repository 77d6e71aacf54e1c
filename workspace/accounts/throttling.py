"""Limit how often an API key may attempt what it may not do, over all web processes together.

The recorded refusals are the count, so nothing else is stored, and a request that is in order costs
nothing.
"""

from __future__ import annotations

from django.db import connection

from workspace.models import ApiKey

MAX_ATTEMPTS = 20
WINDOW_SECONDS = 60

#: The ledger's index by time bounds the search; ``now()`` lets it be used, and is not later than
#: ``clock_timestamp()``.
_WAIT = """
WITH recent AS MATERIALIZED (
  SELECT substr(subject, length('refusal:') + 1)::bigint AS id, at FROM asks_ledgerrecord
  WHERE kind = 'refusal' AND at > now() - make_interval(secs => %(window)s)
)
SELECT extract(epoch FROM recent.at - clock_timestamp()) + %(window)s
FROM recent JOIN asks_refusal USING (id)
WHERE via = 'api' AND starts_with(detail, %(prefix)s)
ORDER BY recent.at DESC OFFSET %(most)s - 1 LIMIT 1
"""


def refusal_prefix(key: ApiKey) -> str:
    """Return how the detail of every refusal of this key begins."""
    return f"Key “{key.name}”: "


def seconds_to_wait(key: ApiKey) -> float:
    """Lock the key and return 0 if it may attempt again, else the seconds until it may.

    Call this in the transaction that records the attempt: the lock makes attempts at the same time
    count one after the other.
    """
    ApiKey.objects.select_for_update(no_key=True).only("pk").get(pk=key.pk)
    arguments: dict[str, int | str] = {
        "window": WINDOW_SECONDS,
        "most": MAX_ATTEMPTS,
        "prefix": refusal_prefix(key),
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAIT, arguments)
        row = cursor.fetchone()
    return max(0.0, float(row[0])) if row else 0.0
