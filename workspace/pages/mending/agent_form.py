"""The form that connects an agent of any runtime, and edits it, with the checks of its fields."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.lifecycle import AgentState
from agents.mending import masking
from agents.mending.checks import AgentUnfit
from agents.mending.editing import AgentEdit, edit_agent
from agents.models import Agent
from agents.models.agent import slug_is_plain
from agents.registration import connect_agent
from workspace.pages.mending.settings_fields import (
    LONG,
    later_settings,
    merged_settings,
    settings_fields,
)

WAKES = [
    ("manual", gettext_lazy("Only when I start it")),
    ("on_message", gettext_lazy("When a message names it")),
    ("continuous", gettext_lazy("On and on, with back-off")),
    ("every", gettext_lazy("Every so many minutes")),
    ("cron", gettext_lazy("By a cron line")),
]
MAX_PROSE = 16_000
WORDS = ("name", "title", "mission", "contract", "lane")
MONO = ("slug", "cwd", "cron", "agent", "base_url", "key_variable", "command", "env")


class AgentForm(forms.Form):
    """Collect what a person states about their agent; everything else has a default.

    Without ``rewires`` it leaves out how the agent runs.
    """

    slug = forms.CharField(
        label=gettext_lazy("Short name"),
        max_length=63,
        validators=[slug_is_plain],
        help_text=gettext_lazy(
            "Lower-case letters, digits and hyphens. It is part of the agent's address."
        ),
    )
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
    lane = forms.CharField(
        label=gettext_lazy("Lane"),
        max_length=63,
        required=False,
        help_text=gettext_lazy("Agents of one lane share a rate limit."),
    )

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        runtime_key: str = "markers",
        agent: Agent | None = None,
        rewires: bool = True,
    ) -> None:
        """Raises LookupError if there is no such runtime."""
        super().__init__(data, initial=_initial(agent, runtime_key) if agent else None)
        self.runtime_key, self.agent, self.rewires = runtime_key, agent, rewires
        self.unfit: list[str] = []
        own = settings_fields(runtime_key) if rewires else {}
        self.settings_names = list(own)
        self._later = later_settings(runtime_key)
        if agent is not None:
            del self.fields["slug"]
        self.fields.update(own)
        self.order_fields(["slug", *own])
        for name, field in self.fields.items():
            _dress(name, field, draft=f"agent-{agent.slug if agent else 'new'}-{name}")

    def first_fields(self) -> list[BoundField]:
        """Return the fields that are shown at once."""
        return [self[name] for name in self.fields if name not in self._later]

    def later_fields(self) -> list[BoundField]:
        """Return the settings that are folded away."""
        return [self[name] for name in self.fields if name in self._later]

    def later_is_wrong(self) -> bool:
        """Whether a folded field has an error, so that the fold must be open."""
        return any(field.errors for field in self.later_fields())

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("wake") == "every" and not data.get("minutes") and "minutes" not in self.errors:
            self.add_error("minutes", _("Say how many minutes lie between two starts."))
        if data.get("wake") == "cron" and not data.get("cron") and "cron" not in self.errors:
            self.add_error("cron", _("Write the cron line, such as 0 9 * * 1-5."))
        return data

    def connect(self, *, owner: User, insist: bool = False) -> Agent | None:
        """Connect the agent as a draft. Return None and fill in the form's errors if it is invalid."""
        data = self.cleaned_data
        try:
            return connect_agent(
                by=owner,
                insist=insist,
                slug=data["slug"],
                owners=[owner],
                runtime_key=self.runtime_key,
                settings=self._settings(),
                wake=self._wake_policy(),
                lifecycle=AgentState.DRAFT,
                **{name: data[name] for name in WORDS},
            )
        except ValidationError as error:
            self._take_errors(error)
            return None

    def save(self, *, by: User, version: int, insist: bool = False) -> Agent | None:
        """Apply the edit. Return None and fill in the errors if it is invalid. Raises StaleEdit."""
        assert self.agent is not None  # noqa: S101 -- only an edit is saved
        rewired: dict[str, Any] = {}
        if self.rewires:
            rewired = {"runtime": self.runtime_key, "settings": self._settings()}
        words = {name: self.cleaned_data[name] for name in WORDS}
        edit = AgentEdit(wake_policy=self._wake_policy(), **words, **rewired)
        try:
            return edit_agent(
                agent_id=self.agent.pk, version=version, by=by, edit=edit, insist=insist
            )
        except ValidationError as error:
            self._take_errors(error)
            return None

    def _settings(self) -> dict[str, Any]:
        same = self.agent is not None and self.agent.runtime == self.runtime_key
        stored = masking.mask_settings(self.agent.settings) if self.agent and same else {}
        flags = [n for n in self.settings_names if isinstance(self.fields[n], forms.BooleanField)]
        sent = {
            name: self.cleaned_data[name]
            for name in self.settings_names
            if name in self.cleaned_data and (name in self.data or name in flags)
        }
        cleared = {name for name, value in sent.items() if value in (None, "") and name not in LONG}
        return merged_settings(stored, sent, cleared)

    def _wake_policy(self) -> dict[str, Any]:
        """Return the wake policy; the stored one if the form shows what it showed before."""
        data = self.cleaned_data
        shown = {name: self.initial.get(name) for name in ("wake", "minutes", "cron")}
        given = {"wake": data["wake"], "minutes": None, "cron": None}
        given |= {"every": {"minutes": data["minutes"]}, "cron": {"cron": data["cron"]}}.get(
            data["wake"], {}
        )
        if self.agent is not None and given == shown:
            return dict(self.agent.wake_policy)
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
                    known = field if field in self.fields else self._some_setting()
                    self.add_error(known, rest or message)
                elif name == "wake_policy":
                    self.add_error(
                        "cron" if self.cleaned_data["wake"] == "cron" else "wake", rest or message
                    )
                else:
                    self.add_error(name if name in self.fields else None, message)
        if isinstance(error, AgentUnfit):
            self.unfit = error.messages

    def _some_setting(self) -> str | None:
        return self.settings_names[0] if self.settings_names else None


def _initial(agent: Agent, runtime_key: str) -> dict[str, Any]:
    """Return what the form shows of an agent. Another runtime starts with its own defaults."""
    words = {name: getattr(agent, name) for name in WORDS}
    own = masking.mask_settings(agent.settings) if runtime_key == agent.runtime else {}
    return {**words, **_initial_wake(agent.wake_policy), **own}


def _initial_wake(stored: dict[str, Any]) -> dict[str, Any]:
    kind, cron = stored.get("kind"), stored.get("cron")
    if kind != "schedule":
        return {"wake": kind, "minutes": None, "cron": None}
    if cron:
        return {"wake": "cron", "minutes": None, "cron": cron}
    minutes = max(1, round((stored.get("every_seconds") or 60) / 60))
    return {"wake": "every", "minutes": minutes, "cron": None}


def _dress(name: str, field: forms.Field, *, draft: str) -> None:
    attrs = field.widget.attrs
    attrs["autocomplete"] = "off"
    if name != "env" and not isinstance(field, forms.BooleanField):
        attrs["data-draft"] = draft  # a browser keeps no secrets
    attrs.pop("maxlength", None)  # a browser would cut pasted text silently
    if name in MONO:
        attrs.update({"class": "mono", "spellcheck": "false"})
