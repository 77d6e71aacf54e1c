"""The form that connects a command-line agent, with the checks of its fields."""

from __future__ import annotations

import shlex
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.lifecycle import AgentState
from agents.models import Agent
from agents.models.agent import slug_is_plain
from agents.registration import register_agent
from agents.text.storable import is_blank

WAKES = [
    ("manual", gettext_lazy("Only when I start it")),
    ("on_message", gettext_lazy("When a message names it")),
    ("continuous", gettext_lazy("On and on, with back-off")),
    ("every", gettext_lazy("Every so many minutes")),
    ("cron", gettext_lazy("By a cron line")),
]
MAX_COMMAND = 4_000
MAX_PROSE = 16_000


class AgentForm(forms.Form):
    """Collect what a person states about their agent; everything else has a default."""

    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=63,
        validators=[slug_is_plain],
        help_text=gettext_lazy(
            "Lower-case letters, digits and hyphens. It is part of the agent's address."
        ),
    )
    command = forms.CharField(
        label=gettext_lazy("Command"),
        max_length=MAX_COMMAND,
        help_text=gettext_lazy(
            "As you would type it. It is run without a shell: no pipes, no variables."
        ),
    )
    cwd = forms.CharField(label=gettext_lazy("Folder it runs in"), max_length=1000, required=False)
    wake = forms.ChoiceField(label=gettext_lazy("When it works"), choices=WAKES, initial="manual")
    minutes = forms.IntegerField(
        label=gettext_lazy("Minutes between starts"), min_value=1, max_value=525_600, required=False
    )
    cron = forms.CharField(
        label=gettext_lazy("Cron line"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("Such as 0 9 * * 1-5, in UTC."),
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120, required=False)
    title = forms.CharField(
        label=gettext_lazy("What it does"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("In one line."),
    )
    mission = forms.CharField(
        label=gettext_lazy("Mission"),
        max_length=MAX_PROSE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("What it is to achieve. Every turn's prompt begins with it."),
    )
    contract = forms.CharField(
        label=gettext_lazy("Contract"),
        max_length=MAX_PROSE,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("How it works, and what it must ask you about."),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data)
        for name, field in self.fields.items():
            field.widget.attrs["data-draft"] = f"agent-new-{name}"
            field.widget.attrs["autocomplete"] = "off"
            field.widget.attrs.pop("maxlength", None)  # a browser would cut pasted text silently
        for name in ("slug", "command", "cwd", "cron"):
            self.fields[name].widget.attrs.update({"class": "mono", "spellcheck": "false"})

    def clean_command(self) -> list[str]:
        """Return the command as an argument list."""
        try:
            words = shlex.split(self.cleaned_data["command"])
        except ValueError as error:
            raise ValidationError(
                _("This cannot be read as a command: {error}.").format(error=error)
            ) from error
        if is_blank("".join(words)):
            raise ValidationError(_("Say which command runs it."))
        return words

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("wake") == "every" and not data.get("minutes") and "minutes" not in self.errors:
            self.add_error("minutes", _("Say how many minutes lie between two starts."))
        if data.get("wake") == "cron" and not data.get("cron") and "cron" not in self.errors:
            self.add_error("cron", _("Write the cron line, such as 0 9 * * 1-5."))
        return data

    def connect(self, *, owner: User) -> Agent | None:
        """Register the agent as a draft. Return None and fill in the form's errors if it is invalid."""
        data = self.cleaned_data
        try:
            return register_agent(
                slug=data["slug"],
                owners=[owner],
                runtime_key="markers",
                settings={"command": data["command"], "cwd": data["cwd"] or None},
                wake=self._wake_policy(),
                lifecycle=AgentState.DRAFT,
                **{name: data[name] for name in ("name", "title", "mission", "contract")},
            )
        except ValidationError as error:
            self._take_errors(error)
            return None

    def _wake_policy(self) -> dict[str, Any]:
        data = self.cleaned_data
        match data["wake"]:
            case "every":
                return {"kind": "schedule", "every_seconds": data["minutes"] * 60}
            case "cron":
                return {"kind": "schedule", "cron": data["cron"]}
            case kind:
                return {"kind": kind}

    def _take_errors(self, error: ValidationError) -> None:
        """Show each error of the model at the form field that it is about."""
        for name, messages in error.message_dict.items():
            for message in messages:
                about, _, rest = message.partition(": ")
                if name == "settings":
                    field = about.split(".", 1)[0]
                    self.add_error(field if field in self.fields else "command", rest or message)
                elif name == "wake_policy":
                    self.add_error(
                        "cron" if self.cleaned_data["wake"] == "cron" else "wake", rest or message
                    )
                else:
                    self.add_error(name if name in self.fields else None, message)
