"""Endpoints of webhooks."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone


class WebhookEndpoint(models.Model):
    """A person's endpoint: it receives events of the agents that the person owns.

    Empty ``kinds`` mean every kind. ``secret`` is ``whsec_`` and base64; it is stored readable because
    it signs. The previous secret signs too until ``former_until``. ``failures`` counts failures in a
    row; ``paused_until`` is set while the breaker is open.
    """

    url = models.CharField(max_length=1000)
    secret = models.CharField(max_length=120)
    former_secret = models.CharField(max_length=120, blank=True)
    former_until = models.DateTimeField(null=True, blank=True)
    kinds = ArrayField(models.CharField(max_length=20), default=list, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks"
    )
    active = models.BooleanField(default=True)
    failures = models.PositiveIntegerField(default=0)
    paused_until = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(fields=["owner", "url"], name="a_person_names_a_url_once"),
            models.CheckConstraint(
                condition=Q(secret__startswith="whsec_"),  # noqa: S106 -- the prefix of all
                name="webhooks_are_signed",
            ),
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that sign now, the current one first."""
        overlaps = self.former_until is not None and self.former_until > timezone.now()
        return (self.secret, self.former_secret) if overlaps else (self.secret,)
