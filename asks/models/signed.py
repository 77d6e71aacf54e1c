from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from agents.db.append_only import append_only_triggers
from asks.models.decision import Refusal, Verdict


class SignedFile(models.Model):
    """A file of the signed channel that was judged. Each version of a file is judged once.

    ``digest`` covers the name, the content, the signature and the allowed-signers file; if one of
    them changes, the file is judged again. ``why`` is a sentence that states the outcome.
    """

    digest = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=255)
    ask_ref = models.CharField(max_length=64, blank=True)
    principal = models.CharField(max_length=255, blank=True)
    why = models.CharField(max_length=1000)
    verdict = models.ForeignKey(Verdict, on_delete=models.PROTECT, null=True, related_name="files")
    refusal = models.ForeignKey(Refusal, on_delete=models.PROTECT, null=True, related_name="files")
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("-seen_at", "-id")
        triggers = append_only_triggers("signed_files")

    def __str__(self) -> str:
        return self.name
