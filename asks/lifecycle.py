"""Kinds, statuses, styles and meanings of asks, and the reasons for refusals. No models here."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

#: Shown in a thread instead of a question that only the people who answer it may read.
CONFIDENTIAL = gettext_noop("A confidential question. Only the people who answer it can read it.")


class AskKind(models.TextChoices):
    QUESTION = "question", _("Question")
    APPROVAL = "approval", _("Approval")


class AskStatus(models.TextChoices):
    """open -> answered, withdrawn, expired or superseded.

    Only a retraction leads back: answered -> open, before the answer took effect.
    """

    OPEN = "open", _("Open")
    ANSWERED = "answered", _("Answered")
    WITHDRAWN = "withdrawn", _("Withdrawn")
    EXPIRED = "expired", _("Expired")
    SUPERSEDED = "superseded", _("Superseded")


class Style(models.TextChoices):
    """The look of an option. A danger option needs a second, deliberate press."""

    PRIMARY = "primary", _("Primary")
    DEFAULT = "default", _("Default")
    DANGER = "danger", _("Destructive")


class Meaning(models.TextChoices):
    """The effect of an option on the action of its ask."""

    ANSWER = "answer", _("Answer")
    APPROVE = "approve", _("Approve")
    DENY = "deny", _("Deny")


class Reason(models.TextChoices):
    """Why an answer was refused. The label is the sentence that a person reads."""

    NOT_FOUND = "not_found", _("There is no such question.")
    NOT_ALLOWED = "not_allowed", _("You may not answer this question.")
    FOUR_EYES = "four_eyes", _("Someone else must answer this: the run was started for you.")
    CLOSED = "closed", _("This question is already closed.")
    EXPIRED = "expired", _("Nobody answered in time. Nothing was approved.")
    GATED = (
        "gated",
        _("This action moves money. Approve it with a signed decision file, not here."),
    )
    UNBINDABLE = (
        "unbindable",
        _("The answer did not name the action it is for. Nothing was approved. Reload the page."),
    )
    UNPROVEN = "unproven", _("The signature does not prove who decided. Nothing was approved.")
    STALE = "stale", _("The question has changed since you looked. Nothing was approved.")
    CLAIMED = "claimed", _("Someone else has claimed this question.")
    REAUTHENTICATE = (
        "reauthenticate",
        _("Confirm it's you before you answer this. Nothing was approved."),
    )
    VOTED = "voted", _("You have already voted. Votes are final.")
    INVALID = "invalid", _("This answer cannot be stored.")
    EMPTY = "empty", _("An empty answer is not an answer.")
    UNKNOWN_OPTION = "unknown_option", _("That option was not offered.")
    NOT_EDITABLE = "not_editable", _("This action cannot be edited. Nothing was approved.")
    BAD_EDIT = "bad_edit", _("Your changes do not fit. Nothing was approved.")
    REASON_REQUIRED = "reason_required", _("This answer needs a reason.")


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
