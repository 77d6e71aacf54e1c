"""Store the time zone and working hours of people, and combine those of several."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from pydantic import ValidationError as ShapeError

from agents.text.canonical_json import Json
from asks.models import PersonalHours
from asks.policies.working_hours import WorkingHours


def hours_of(person: AbstractBaseUser) -> WorkingHours | None:
    """Return the working hours of a person, or None if they have not set any."""
    row = PersonalHours.objects.filter(person=person.pk).first()
    return _read(row) if row else None


def set_hours(person: AbstractBaseUser, said: dict[str, Json]) -> WorkingHours:
    """Store a person's hours: {zone, days, opens, closes}. Raises ValidationError per field."""
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
    """Delete the hours of a person, so that all hours count again."""
    PersonalHours.objects.filter(person=person.pk).delete()


def hours_of_all(people: QuerySet[User]) -> tuple[WorkingHours, ...]:
    """Return the hours of several people. Empty if one of them has not set any, or without people."""
    ids = set(people.values_list("pk", flat=True))
    rows = PersonalHours.objects.filter(person__in=ids).order_by("person")
    hours = [_read(row) for row in rows] if ids else []
    return tuple(dict.fromkeys(hours)) if len(hours) == len(ids) else ()


def _read(row: PersonalHours) -> WorkingHours:
    return WorkingHours(zone=row.zone, days=row.days, opens=row.opens, closes=row.closes)


def _in_words(error: ShapeError) -> dict[str, list[str]]:
    """Return {field: sentences}. An error about both times together is reported for ``closes``."""
    sentences: dict[str, list[str]] = {}
    for flaw in error.errors(include_url=False):
        field = str(flaw["loc"][0]) if flaw["loc"] else "closes"
        sentence = flaw["msg"].removeprefix("Value error, ").capitalize()
        sentences.setdefault(field, []).append(sentence)
    return sentences
