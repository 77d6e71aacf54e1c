"""One line at a time: is it a marker, which one, and what does it say?

Lenient where agents vary: ``ASK:``, ``Ask:``, ``**ASK:**``, ``- ASK:``, ``## ASK:`` are the same. A
marker starts its line; one that is quoted with ``>``, set as inline code or stands in the middle of
a sentence is not taken, and ``near_miss`` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.lifecycle import Outcome

KINDS = ("OUTCOME", "ASK", "OPTIONS", "REPORT", "NOTIFY", "SEND")

_KIND = "|".join(KINDS)
_MARKER = re.compile(
    rf"""\s*
    (?:(?:[-*+•]|\d{{1,3}}[.)]|\#{{1,6}})\s+)?    # a list item or a heading
    (?P<open>\*{{1,3}}|_{{1,3}})?
    (?P<kind>{_KIND})
    (?P<before>\*{{1,3}}|_{{1,3}})?
    [ \t]*[:\uff1a]
    (?P<after>\*{{1,3}}|_{{1,3}})?
    (?P<text>.*)\Z""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_LATE = re.compile(rf"\b(?:{_KIND}):\s*\S")
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_PLACEHOLDER = re.compile(r"<[^<>]*>|\.{3}|…")
_SEND = re.compile(
    r"@(?P<slug>[a-z0-9][a-z0-9_-]*)[:,]?\s+(?P<text>\S.*)\Z", re.IGNORECASE | re.DOTALL
)
_NAMES = r"RATE[ _-]?LIMITED|RETRYABLE[ _-]?ERROR|WORK[ _-]?DONE|NO[ _-]?WORK|BLOCKED"
_OUTCOME_NAME = re.compile(rf"\b(?:{_NAMES})\b")
_OUTCOME = re.compile(
    rf"(?P<name>{_NAMES})"
    r"(?P<rest>\s*[.!;,]*|\s*(?:[-–—:;,(]|\.\s).*)\Z",  # noqa: RUF001 - dashes as agents write them
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Marker:
    """A line that is one. ``text`` is what follows the colon, without its decoration."""

    kind: str
    text: str


def read_marker(line: str) -> Marker | None:
    """The marker that this line is, or None."""
    found = _MARKER.match(line)
    if not found:
        return None
    opened, after, text = found["open"], found["after"] or "", found["text"].strip()
    if not opened:
        return None if found["before"] else Marker(found["kind"].upper(), (after + text).strip())
    if opened not in (found["before"], after):
        text = text.removesuffix(opened)
    return Marker(found["kind"].upper(), text.strip())


def near_miss(line: str) -> str:
    """Why a line that no marker was read from looks like one all the same; "" if it does not."""
    if quote := _QUOTE.match(line):
        return "it is quoted with >" if read_marker(line[quote.end() :]) else ""
    if line.lstrip().startswith("`"):
        return "it is set as code" if read_marker(line.strip().strip("`")) else ""
    return "a marker must start its line" if _LATE.search(line) else ""


def is_placeholder(text: str) -> bool:
    """True for a line of the protocol's own text given back: ``<your question>``, ``...``.

    A real question may start with ``<``, and a bare link is no placeholder.
    """
    return bool(_PLACEHOLDER.fullmatch(text.strip())) and "://" not in text


def read_outcome(text: str) -> tuple[Outcome, str] | None:
    """The outcome named and what is said after it (``BLOCKED.``, ``BLOCKED - no key``), or None.

    A menu of outcomes (``WORK_DONE | NO_WORK``) is none.
    """
    found = _OUTCOME.match(text.strip().strip("*_`").strip())
    if not found or _OUTCOME_NAME.search(found["rest"]):
        return None
    name = re.sub(r"[ _-]", "", found["name"]).upper()
    by_name = {str(outcome.value).replace("_", ""): outcome for outcome in Outcome}
    return by_name[name], found["rest"].strip()


def read_send(text: str) -> tuple[str, str] | None:
    """The slug and the words of ``@slug words``, or None."""
    found = _SEND.match(text)
    return (found["slug"].lower(), found["text"].strip()) if found else None
