"""Count durations in working hours, each in its own time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from heapq import merge
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[str, ...] = get_args(Day)
WORKING_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri")
#: After this many days, counting stops and all hours count.
LONGEST = 20_000


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(_("there is no time zone “{name}”").format(name=name))
    return name


class WorkingHours(BaseModel):
    """The hours in which owners work. The durations of a policy count only these hours."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: Annotated[str, AfterValidator(_known_zone)]
    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7)] = WORKING_DAYS
    opens: time = time(9)
    closes: time = time(17)

    @model_validator(mode="after")
    def _in_order(self) -> WorkingHours:
        if self.opens >= self.closes or self.opens.tzinfo or self.closes.tzinfo:
            raise ValueError(_("they must open before they close, in local time"))
        return self

    def window(self, day: date) -> tuple[datetime, datetime] | None:
        """Return when a working day begins and ends, in UTC. None on a day off.

        Daylight saving changes are taken into account.
        """
        if DAYS[day.weekday()] not in self.days:
            return None
        zone = ZoneInfo(self.zone)
        opens, closes = (
            datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
            for at in (self.opens, self.closes)
        )
        return opens, closes


def add_working_time(start: datetime, wait: timedelta, *hours: WorkingHours) -> datetime:
    """Return the moment when ``wait`` of working time has passed since ``start``.

    With several calendars, time counts if it is in one of them. Without any, all time counts.
    """
    if not hours:
        return start + wait
    counted = start
    for opens, end in merge(*(_windows(one, start) for one in hours)):
        begin = max(opens, counted)
        if begin + wait <= end:
            return begin + wait
        if begin < end:
            wait, counted = wait - (end - begin), end
    return start + wait


def _windows(hours: WorkingHours, start: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the working windows in UTC, from the day of ``start`` on."""
    day = start.astimezone(ZoneInfo(hours.zone)).date()
    for number in range(LONGEST):
        if (window := hours.window(day + timedelta(days=number))) is not None:
            yield window
