"""What people prefer on their own pages."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class UndoPreference(models.Model):
    """How many seconds a person can take an answer back. Without a row, the workspace's default."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="undo_preference"
    )
    seconds = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(seconds__lte=30), name="an_undo_window_is_30_seconds_at_most"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.seconds} s"
