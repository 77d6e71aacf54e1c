"""Parse single lines: recognize markers, outcomes and mail.

The grammar is lenient where agents vary: ``ASK:``, ``Ask:``, ``**ASK:**``, ``- ASK:`` and ``## ASK:``
are the same. A marker starts its line. One that is quoted with ``>``, formatted as inline code or in
the middle of a sentence is not taken; ``near_miss`` returns the reason.
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
    """A parsed marker line. ``text`` follows the colon, without Markdown decoration."""

    kind: str
    text: str


def read_marker(line: str) -> Marker | None:
    """Parse a line as a marker. Return None if it is not one."""
    match = _MARKER.match(line)
    if not match:
        return None
    opened, after, text = match["open"], match["after"] or "", match["text"].strip()
    if not opened:
        return None if match["before"] else Marker(match["kind"].upper(), (after + text).strip())
    if opened not in (match["before"], after):
        text = text.removesuffix(opened)
    return Marker(match["kind"].upper(), text.strip())


def near_miss(line: str) -> str:
    """Return why a line that looks like a marker is not one; "" if it does not look like one."""
    if quote := _QUOTE.match(line):
        return "it is quoted with >" if read_marker(line[quote.end() :]) else ""
    if line.lstrip().startswith("`"):
        return "it is formatted as code" if read_marker(line.strip().strip("`")) else ""
    return "a marker must start its line" if _LATE.search(line) else ""


def is_placeholder(text: str) -> bool:
    """Return whether text repeats a placeholder of the instructions: ``<your question>``, ``...``.

    A real question may start with ``<``, and a bare link is not a placeholder.
    """
    return bool(_PLACEHOLDER.fullmatch(text.strip())) and "://" not in text


def read_outcome(text: str) -> tuple[Outcome, str] | None:
    """Return the outcome and the text after it (``BLOCKED.``, ``BLOCKED - no key``), or None.

    A menu of outcomes (``WORK_DONE | NO_WORK``) is not an outcome.
    """
    match = _OUTCOME.match(text.strip().strip("*_`").strip())
    if not match or _OUTCOME_NAME.search(match["rest"]):
        return None
    name = re.sub(r"[ _-]", "", match["name"]).upper()
    by_name = {str(outcome.value).replace("_", ""): outcome for outcome in Outcome}
    return by_name[name], match["rest"].strip()


def read_send(text: str) -> tuple[str, str] | None:
    """Return the slug and the text of ``@slug text``, or None."""
    match = _SEND.match(text)
    return (match["slug"].lower(), match["text"].strip()) if match else None
