"""The time zone and the working hours of people, and what they mean for those who answer together."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from pydantic import ValidationError as ShapeError

from agents.text.canonical_json import Json
from asks.models import PersonalHours
from asks.policies.working_hours import WorkingHours


def hours_of(person: AbstractBaseUser) -> WorkingHours | None:
    """When a person is there; None for somebody who has not said so."""
    found = PersonalHours.objects.filter(person=person.pk).first()
    return _read(found) if found else None


def set_hours(person: AbstractBaseUser, said: dict[str, Json]) -> WorkingHours:
    """Keep what a person says of themselves: {zone, days, opens, closes}. Raises ValidationError."""
    try:
        hours = WorkingHours.model_validate(said)
    except ShapeError as error:
        raise ValidationError(_in_words(error)) from error
    PersonalHours.objects.update_or_create(
        person_id=person.pk,
        defaults={
            "zone": hours.zone,
            "days": list(hours.days),
            "opens": hours.opens,
            "closes": hours.closes,
        },
    )
    return hours


def clear_hours(person: AbstractBaseUser) -> None:
    """They are always there again."""
    PersonalHours.objects.filter(person=person.pk).delete()


def hours_of_all(people: QuerySet[User]) -> tuple[WorkingHours, ...]:
    """The hours of people who answer together. Empty if one of them is always there, or nobody is."""
    wanted = set(people.values_list("pk", flat=True))
    said = PersonalHours.objects.filter(person__in=wanted).order_by("person")
    found = [_read(row) for row in said] if wanted else []
    return tuple(dict.fromkeys(found)) if len(found) == len(wanted) else ()


def _read(row: PersonalHours) -> WorkingHours:
    return WorkingHours(zone=row.zone, days=row.days, opens=row.opens, closes=row.closes)


def _in_words(error: ShapeError) -> dict[str, list[str]]:
    """{field: why}; what is wrong with both times together is said at the later one."""
    said: dict[str, list[str]] = {}
    for found in error.errors(include_url=False):
        field = str(found["loc"][0]) if found["loc"] else "closes"
        said.setdefault(field, []).append(found["msg"].removeprefix("Value error, ").capitalize())
    return said
