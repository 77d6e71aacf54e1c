"""Make form fields of a runtime's settings, from the model that checks them."""

from __future__ import annotations

import json
import shlex
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.fields import FieldInfo

from agents.running import runtime
from agents.text import json_input
from agents.text.storable import is_blank

MAX_COMMAND = 4_000
MAX_TEXT = 64_000
#: Settings that are a command, although their type is only a list of words.
COMMANDS = frozenset({"command", "postprocess"})
#: Settings whose text is long.
LONG = frozenset({"prompt", "hitl_note", "input"})
#: Settings that are shown at once; the others wait below "More settings".
FIRST = ("command", "cwd", "agent", "base_url", "key_variable", "model", "workspace", "hitl", "env")
LABELS = {
    "command": gettext_lazy("Command"),
    "cwd": gettext_lazy("Folder it runs in"),
    "env": gettext_lazy("Environment"),
    "env_allow": gettext_lazy("Variables of the worker to pass on"),
    "agent": gettext_lazy("Where it is defined"),
    "base_url": gettext_lazy("Address of its server"),
    "key_variable": gettext_lazy("Variable that holds the key"),
    "hitl": gettext_lazy("It may ask"),
    "wall_clock_seconds": gettext_lazy("Most seconds of a turn"),
}
HELP = {
    "command": gettext_lazy(
        "As you would type it. It is run without a shell: no pipes, no variables."
    ),
    "env": gettext_lazy("One NAME=VALUE a line. A value of dots is not shown, and stays."),
}


class CommandField(forms.CharField):
    """A command line. Its value is the list of its words."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 -- a field's options
        super().__init__(max_length=MAX_COMMAND, **options)

    def prepare_value(self, value: object) -> object:
        return shlex.join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: object) -> list[str]:
        text = super().clean(value)
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ValidationError(
                _("This cannot be read as a command: {error}.").format(error=error)
            ) from error
        if self.required and is_blank("".join(words)):
            raise ValidationError(_("Say which command runs it."))
        return words


class LinesField(forms.CharField):
    """Several texts, one a line."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 -- a field's options
        super().__init__(max_length=MAX_TEXT, **options)

    def prepare_value(self, value: object) -> object:
        return "\n".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: object) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class PairsField(forms.CharField):
    """Several NAME=VALUE, one a line. Its value is {name: value}."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 -- a field's options
        super().__init__(strip=False, max_length=MAX_TEXT, **options)

    def prepare_value(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return "\n".join(f"{name}={text}" for name, text in value.items())

    def clean(self, value: object) -> dict[str, str]:
        pairs = {}
        for line in filter(str.strip, super().clean(value).splitlines()):
            name, sign, text = line.partition("=")
            if not sign or not name.strip():
                raise ValidationError(_("Write NAME=VALUE, not “{line}”.").format(line=line[:40]))
            pairs[name.strip()] = text
        return pairs


class JsonTextField(forms.CharField):
    """A JSON object."""

    widget = forms.Textarea(attrs={"rows": 3})

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 -- a field's options
        super().__init__(max_length=MAX_TEXT, **options)

    def prepare_value(self, value: object) -> object:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)

    def clean(self, value: object) -> object:
        text = super().clean(value)
        try:
            return json_input.read_json(text) if text.strip() else {}
        except ValueError as error:
            raise ValidationError(_("This is not JSON: {error}.").format(error=error)) from error


def settings_fields(runtime_key: str) -> dict[str, forms.Field]:
    """Return a form field for each setting of a runtime, those that matter most first.

    Raises LookupError if there is no such runtime.
    """
    known = runtime.find_runtime(runtime_key).settings_model.model_fields
    order = sorted(known, key=lambda name: (not is_first(name, known[name]), _place(name)))
    return {name: _field(name, known[name]) for name in order}


def is_first(name: str, info: FieldInfo) -> bool:
    """Whether a setting is shown at once."""
    return info.is_required() or name in FIRST


def later_settings(runtime_key: str) -> frozenset[str]:
    """Return the names of the settings that wait below "More settings"."""
    known = runtime.find_runtime(runtime_key).settings_model.model_fields
    return frozenset(name for name, info in known.items() if not is_first(name, info))


def _place(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _field(name: str, info: FieldInfo) -> forms.Field:
    label = LABELS.get(name) or name.replace("_", " ").capitalize()
    help_text = HELP.get(name) or info.description or ""
    common: dict[str, Any] = {
        "label": label,
        "help_text": help_text,
        "required": info.is_required(),
    }
    if not info.is_required() and info.default_factory is None:
        common["initial"] = info.default
    kind = _plain(info.annotation)
    if kind is bool:
        return forms.BooleanField(**{**common, "required": False})
    if kind in (int, float):
        return (forms.IntegerField if kind is int else forms.FloatField)(**common)
    if get_origin(kind) is Literal:
        choices = [(value, value) for value in get_args(kind)]
        return forms.ChoiceField(choices=choices, **{**common, "required": False})
    return _text_field(name, kind, common)


def _text_field(name: str, kind: object, common: dict[str, Any]) -> forms.Field:
    if get_origin(kind) is list:
        return CommandField(**common) if name in COMMANDS else LinesField(**common)
    if get_origin(kind) is dict and get_args(kind) == (str, str):
        return PairsField(**common)
    if kind is not str:
        return JsonTextField(**common)
    widget = forms.Textarea(attrs={"rows": 3}) if name in LONG else forms.TextInput()
    return forms.CharField(max_length=MAX_TEXT, widget=widget, **common)


def _plain(kind: Any) -> Any:  # noqa: ANN401 -- a type, in any of its spellings
    """Return a type without Annotated and without None: ``str`` for ``Annotated[str | None, …]``."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    return kind


def merged_settings(
    stored: dict[str, Any], sent: dict[str, Any], cleared: set[str]
) -> dict[str, Any]:
    """Return the stored settings with those that were sent. What was cleared gets its default."""
    return {name: value for name, value in {**stored, **sent}.items() if name not in cleared}
