"""Hide the secrets in an agent's settings, wherever they are shown or recorded.

A value of the environment is a secret. So is what a command is given as a key, token or password, and
the user and password in an address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Stands for a value that is not shown. Sent back, it means that the value stays.
MASK = "••••••"

_NAME = r"[A-Za-z0-9_-]*(?:key|token|secret|passw(?:or)?d|passphrase|credential|auth)[A-Za-z0-9_-]*"
_NAMED = re.compile(rf"(?i)^-{{0,2}}{_NAME}$")
_PAIR = re.compile(rf"(?i)^(-{{0,2}}{_NAME}[=:]\s*)(.+)$", re.DOTALL)
_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@]+@")
_SPOKEN = re.compile(r"(?i)\b(bearer\s+|sk-|ghp_|ny_)[A-Za-z0-9._~+/=-]{8,}")
#: Settings whose name sounds like a secret, and whose value is only the name of a variable.
_HARMLESS = frozenset({"key_variable"})


def mask_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they may be shown to the people who may change them: without ``env``."""
    shown = dict(settings)
    if isinstance(shown.get("env"), Mapping):
        shown["env"] = dict.fromkeys(shown["env"], MASK)
    return shown


def unmask_settings(given: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that were shown masked, with the stored value wherever the mask came back."""
    whole, kept = dict(given), stored.get("env") or {}
    if isinstance(whole.get("env"), Mapping):
        whole["env"] = {
            name: kept[name] if value == MASK and name in kept else value
            for name, value in whole["env"].items()
        }
    return whole


def mask_record(name: str, value: Any) -> Any:  # noqa: ANN401 -- a setting's value, of any shape
    """Return a value as the ledger may keep it for ever: nothing that can be a secret is left."""
    if name == "env" and isinstance(value, Mapping):
        return dict.fromkeys(value, MASK)
    if isinstance(value, Mapping):
        return {str(key): mask_record(str(key), one) for key, one in value.items()}
    if isinstance(value, list):
        return _mask_words(value)
    if not isinstance(value, str):
        return value
    if _NAMED.match(name) and name not in _HARMLESS and value:
        return MASK
    return _mask_text(value)


def _mask_words(words: list[Any]) -> list[Any]:
    """Mask what follows ``--token``, and the other secrets among the words of a command."""
    masked, is_secret = [], False
    for word in words:
        masked.append(MASK if is_secret else mask_record("", word))
        is_secret = isinstance(word, str) and word.startswith("-") and bool(_NAMED.match(word))
    return masked


def _mask_text(text: str) -> str:
    if pair := _PAIR.match(text):
        return f"{pair[1]}{MASK}"
    return _SPOKEN.sub(rf"\g<1>{MASK}", _LOGIN.sub(rf"\g<1>{MASK}@", text))


def differences_of_settings(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the same for settings, each under its full name: ``settings.command``."""
    return {f"settings.{name}": pair for name, pair in differences(before, after).items()}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return {name: [old, new]} of what differs, as the ledger may keep it.

    A secret that changed is recorded as changed: its old and new value are the mask, twice.
    """
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {
        name: [mask_record(name, before.get(name)), mask_record(name, after.get(name))]
        for name in names
    }
