from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q


class PersonalHours(models.Model):
    """A person's working hours, in their own time zone. A person without a row is always available."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="personal_hours",
    )
    zone = models.CharField(max_length=64)
    days = ArrayField(models.CharField(max_length=3))
    opens = models.TimeField()
    closes = models.TimeField()

    class Meta:
        verbose_name_plural = "personal hours"
        constraints = [
            models.CheckConstraint(
                condition=Q(opens__lt=F("closes")) & ~Q(days=[]) & ~Q(zone=""),
                name="they_open_before_they_close",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.zone}, {self.opens:%H:%M} to {self.closes:%H:%M}"
