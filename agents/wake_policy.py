"""Wake policies: when an agent starts by itself. Stored as JSON on the agent, validated on saving."""

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
    """Start again after each turn; wait longer and longer while there is nothing to do. In seconds."""

    kind: Literal["continuous"] = "continuous"
    every_seconds: int = Field(60, ge=1, le=86_400)
    idle_base_seconds: int = Field(60, ge=1, le=86_400)
    idle_max_seconds: int = Field(3600, ge=1, le=604_800)
    idle_factor: float = Field(2, ge=1, le=10)


class Schedule(_Policy):
    """Start at an interval or by a cron line in a time zone. Missed starts count as one."""

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
        """Return the first start after a moment."""
        if self.every_seconds is not None:
            return moment + timedelta(seconds=self.every_seconds)
        cron = str(self.cron)
        starts = croniter(cron, moment.astimezone(ZoneInfo(self.time_zone)))
        start: datetime = starts.get_next(datetime)
        while start.fold and "*" not in cron.split()[HOUR]:
            # The clocks went back: a named hour occurs twice and counts once.
            start = starts.get_next(datetime)
        return start


def _ever_starts(cron: str) -> bool:
    """Whether a cron line has the five usual fields and ever starts: 31 February never does."""
    if len(cron.split()) != CRON_FIELDS:
        return False
    try:
        croniter(cron, datetime(2000, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (CroniterError, ValueError, TypeError, OverflowError):
        return False
    return True


class OnMessage(_Policy):
    """Start only when a message arrives."""

    kind: Literal["on_message"] = "on_message"


class Manual(_Policy):
    """Start only when a person starts it."""

    kind: Literal["manual"] = "manual"


WakePolicy = Continuous | Schedule | OnMessage | Manual
_adapter: TypeAdapter[WakePolicy] = TypeAdapter(Annotated[WakePolicy, Field(discriminator="kind")])


def parse_wake_policy(stored: dict[str, Any]) -> WakePolicy:
    """Parse a stored policy; an empty one means manual. Raises pydantic.ValidationError."""
    return _adapter.validate_python(stored) if stored else Manual()
