"""Check the formats of JSON Schema (2020-12) that a person's edit can get wrong.

Written here because jsonschema checks several of them only if further packages are installed, and
silently accepts everything otherwise. A format that is not listed is not checked.
"""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime, time
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext_noop
from jsonschema import FormatChecker

_OFFSET = r"(?:[Zz]|[+-]\d{2}:\d{2})"
_TIME = re.compile(rf"\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?{_OFFSET}", re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}[Tt ]{_TIME.pattern}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DURATION = re.compile(
    r"P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)",
    re.ASCII,
)
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)


def _is_date(text: str) -> bool:
    return bool(_DAY.fullmatch(text) and date.fromisoformat(text))


def _is_time(text: str) -> bool:
    return bool(_TIME.fullmatch(text) and time.fromisoformat(_short(text)))


def _is_moment(text: str) -> bool:
    return bool(_MOMENT.fullmatch(text) and datetime.fromisoformat(_short(text)))


def _short(text: str) -> str:
    """Return a time with at most the six digits of a second that Python reads."""
    return re.sub(r"(\.\d{6})\d+", r"\1", text.upper())


def _is_duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text))


def _is_email(text: str) -> bool:
    validate_email(text)
    return True


def _is_uuid(text: str) -> bool:
    return str(uuid.UUID(text)) == text.lower()


def _is_uri(text: str) -> bool:
    parts = urlsplit(text)
    spaced = any(char.isspace() or not char.isprintable() for char in text)
    hosted = parts.scheme not in ("http", "https", "ws", "wss", "ftp") or bool(parts.hostname)
    return bool(parts.scheme) and not spaced and hosted


def _is_hostname(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return len(text) <= 253 and all(_LABEL.fullmatch(label) for label in labels)


def _is_ipv4(text: str) -> bool:
    return bool(ipaddress.IPv4Address(text))


def _is_ipv6(text: str) -> bool:
    return bool(ipaddress.IPv6Address(text)) and "%" not in text


_CHECKS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_moment,
    "duration": _is_duration,
    "email": _is_email,
    "uuid": _is_uuid,
    "uri": _is_uri,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
}
#: What each format asks for, in words.
SENTENCES = {
    "date": gettext_noop("It must be a date, such as 2026-02-28."),
    "time": gettext_noop("It must be a time with its zone, such as 09:30:00Z."),
    "date-time": gettext_noop("It must be a date and a time, such as 2026-02-28T09:30:00Z."),
    "duration": gettext_noop("It must be a duration, such as P3D or PT30M."),
    "email": gettext_noop("It must be an e-mail address."),
    "uuid": gettext_noop("It must be a UUID."),
    "uri": gettext_noop("It must be an address with its scheme, such as https://example.org/."),
    "hostname": gettext_noop("It must be the name of a host."),
    "ipv4": gettext_noop("It must be an IPv4 address."),
    "ipv6": gettext_noop("It must be an IPv6 address."),
}


def _checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, check in _CHECKS.items():
        checker.checkers = {**checker.checkers, name: (_for_texts(check), (ValueError,))}
    return checker


def _for_texts(check: Callable[[str], bool]) -> Callable[[object], bool]:
    """A format says something about texts only."""

    def check_text(value: object) -> bool:
        try:
            return not isinstance(value, str) or check(value)
        except (ValueError, ValidationError):
            return False

    return check_text


CHECKER = _checker()
