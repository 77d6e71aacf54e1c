"""The database's clock: the only one that leases, wakes and expiries are measured by."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.db.models import DateTimeField, Func


class ClockNow(Func):
    """The present moment as a column, moving on within a transaction."""

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def now() -> datetime:
    """The present moment by the database, moving on within a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
