"""One-time sign-in links."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class EntryLink(models.Model):
    """A one-time sign-in link, by the hash of its token: a stolen table signs nobody in."""

    token_hash = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="entry_links")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="entry_link_used_in_time",
                condition=Q(used_at=None) | Q(used_at__lte=F("expires_at")),
            )
        ]

    def __str__(self) -> str:
        return f"entry link of {self.user}"
