"""When an agent wakes by itself. Stored as JSON on the agent, checked when it is saved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import CroniterError, croniter
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

CRON_FIELDS = 5
HOUR = 1


class _Policy(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Continuous(_Policy):
    """Works on and on; looks again later and later while there is nothing to do. Seconds."""

    kind: Literal["continuous"] = "continuous"
    every_seconds: int = Field(60, ge=1, le=86_400)
    idle_base_seconds: int = Field(60, ge=1, le=86_400)
    idle_max_seconds: int = Field(3600, ge=1, le=604_800)
    idle_factor: float = Field(2, ge=1, le=10)


class Schedule(_Policy):
    """Starts every so many seconds, or by a cron line in a time zone. Missed starts are one start."""

    kind: Literal["schedule"] = "schedule"
    every_seconds: int | None = Field(None, ge=1, le=31_536_000)
    cron: str | None = Field(None, max_length=200)
    time_zone: str = "UTC"

    @field_validator("cron")
    @classmethod
    def _cron_is_valid(cls, value: str | None) -> str | None:
        if value is not None and not _ever_starts(value):
            raise ValueError(f"“{value[:80]}” is not a cron line, such as “0 9 * * 1-5”.")
        return value

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"“{value[:80]}” is not a time zone, such as “Europe/Berlin”."
            ) from error
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> Schedule:
        if (self.every_seconds is None) == (self.cron is None):
            raise ValueError("A schedule has either every_seconds or cron.")
        return self

    def next_after(self, moment: datetime) -> datetime:
        """The first start after a moment."""
        if self.every_seconds is not None:
            return moment + timedelta(seconds=self.every_seconds)
        cron = str(self.cron)
        starts = croniter(cron, moment.astimezone(ZoneInfo(self.time_zone)))
        start: datetime = starts.get_next(datetime)
        while start.fold and "*" not in cron.split()[HOUR]:
            # The clock was put back: an hour that is named comes twice and counts once.
            start = starts.get_next(datetime)
        return start


def _ever_starts(cron: str) -> bool:
    """Whether it has the five usual fields and names a moment that comes: 31 February never does."""
    if len(cron.split()) != CRON_FIELDS:
        return False
    try:
        croniter(cron, datetime(2000, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (CroniterError, ValueError, TypeError, OverflowError):
        return False
    return True


class OnMessage(_Policy):
    kind: Literal["on_message"] = "on_message"


class Manual(_Policy):
    kind: Literal["manual"] = "manual"


WakePolicy = Continuous | Schedule | OnMessage | Manual
_adapter: TypeAdapter[WakePolicy] = TypeAdapter(Annotated[WakePolicy, Field(discriminator="kind")])


def parse_wake_policy(stored: dict[str, Any]) -> WakePolicy:
    """The policy of its JSON; none means manual. Raises pydantic.ValidationError."""
    return _adapter.validate_python(stored) if stored else Manual()
