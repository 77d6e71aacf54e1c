"""Time as people count it: hours in which somebody is there, in their own time zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[str, ...] = get_args(Day)
WORKING_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri")
#: Counting gives up after so many days and takes the time as it is.
LONGEST = 20_000


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"there is no time zone “{name}”")
    return name


class WorkingHours(BaseModel):
    """When the owners are there. Durations of a policy count only these hours."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zone: Annotated[str, AfterValidator(_known_zone)]
    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7)] = WORKING_DAYS
    opens: time = time(9)
    closes: time = time(17)

    @model_validator(mode="after")
    def _in_order(self) -> WorkingHours:
        if self.opens >= self.closes or self.opens.tzinfo or self.closes.tzinfo:
            raise ValueError("they must open before they close, in local time")
        return self

    def window(self, day: date) -> tuple[datetime, datetime] | None:
        """When that day begins and ends, in UTC; None on a day off. Clock changes are counted."""
        if DAYS[day.weekday()] not in self.days:
            return None
        zone = ZoneInfo(self.zone)
        opens, closes = (
            datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
            for at in (self.opens, self.closes)
        )
        return opens, closes


def after(start: datetime, wait: timedelta, hours: WorkingHours | None) -> datetime:
    """The moment at which so much (working) time has passed since ``start``."""
    if hours is None:
        return start + wait
    day = start.astimezone(ZoneInfo(hours.zone)).date()
    for _ in range(LONGEST):
        if (window := hours.window(day)) is not None:
            begin, end = max(start, window[0]), window[1]
            if begin + wait <= end:
                return begin + wait
            wait -= max(end - begin, timedelta(0))
        day += timedelta(days=1)
    return start + wait
