"""The words of what may be asked, answered and refused. No models here."""

from __future__ import annotations

from django.db import models


class AskKind(models.TextChoices):
    QUESTION = "question", "Question"
    APPROVAL = "approval", "Approval"


class AskStatus(models.TextChoices):
    """open -> answered, withdrawn, expired or superseded; nothing leads back."""

    OPEN = "open", "Open"
    ANSWERED = "answered", "Answered"
    WITHDRAWN = "withdrawn", "Withdrawn"
    EXPIRED = "expired", "Expired"
    SUPERSEDED = "superseded", "Superseded"


class Style(models.TextChoices):
    """How an option looks. A danger option wants a second, deliberate press."""

    PRIMARY = "primary", "Primary"
    DEFAULT = "default", "Default"
    DANGER = "danger", "Destructive"


class Meaning(models.TextChoices):
    """What choosing an option means for the action that is asked about."""

    ANSWER = "answer", "Answer"
    APPROVE = "approve", "Approve"
    DENY = "deny", "Deny"


class Reason(models.TextChoices):
    """Why an answer was turned down. The label is the sentence a person reads."""

    NOT_FOUND = "not_found", "There is no such question."
    NOT_ALLOWED = "not_allowed", "This is not yours to answer."
    FOUR_EYES = "four_eyes", "Somebody else must answer this: the run was started for you."
    CLOSED = "closed", "This question is already closed."
    EXPIRED = "expired", "Nobody answered in time. Nothing was approved."
    GATED = (
        "gated",
        "Money-critical actions are not answerable here. No grant was minted; use the signed channel.",
    )
    UNBINDABLE = (
        "unbindable",
        "This answer did not say which action it is for. Nothing was approved; load the page again.",
    )
    UNPROVEN = "unproven", "The signature does not prove who decided this. Nothing was approved."
    STALE = "stale", "What is asked has changed since you looked. Nothing was approved."
    CLAIMED = "claimed", "Somebody else has claimed this question."
    REAUTHENTICATE = (
        "reauthenticate",
        "This answer needs you to prove who you are once more. Nothing was approved.",
    )
    VOTED = "voted", "You have voted already, and a vote stays as it is."
    INVALID = "invalid", "This answer cannot be kept as it is."
    EMPTY = "empty", "An empty answer is not an answer."
    UNKNOWN_OPTION = "unknown_option", "That option was not offered."
    NOT_EDITABLE = "not_editable", "This action may not be changed here. Nothing was approved."
    BAD_EDIT = "bad_edit", "What you changed does not fit. Nothing was approved."
    REASON_REQUIRED = "reason_required", "This answer needs a reason in words."


#: The HTTP status of each refusal, for every door.
HTTP_STATUS: dict[Reason, int] = {
    Reason.NOT_FOUND: 404,
    Reason.NOT_ALLOWED: 403,
    Reason.FOUR_EYES: 403,
    Reason.CLOSED: 409,
    Reason.EXPIRED: 410,
    Reason.GATED: 403,
    Reason.UNBINDABLE: 428,
    Reason.UNPROVEN: 403,
    Reason.STALE: 409,
    Reason.CLAIMED: 409,
    Reason.REAUTHENTICATE: 403,
    Reason.VOTED: 409,
    Reason.INVALID: 422,
    Reason.EMPTY: 422,
    Reason.UNKNOWN_OPTION: 422,
    Reason.NOT_EDITABLE: 403,
    Reason.BAD_EDIT: 422,
    Reason.REASON_REQUIRED: 422,
}
