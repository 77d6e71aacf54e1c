r"""Read the marker protocol from an agent's text.

    REPORT: <text>             posted in the thread as soon as the line is complete
    NOTIFY: <text>             a notice, posted likewise; it needs no answer
    SEND: @<agent> <text>      mail to another agent, sent when the turn ends
    ASK: <question>            a question to the owner, asked when the turn ends; it continues on
                               the following lines up to a blank line or the next marker
    OPTIONS: <a> | <b (!)>     the answers to the preceding ASK. \| is a pipe inside a label,
                               (!) marks a destructive option, a label ... also allows free text
    OUTCOME: <outcome>         the result of the turn; the last one counts, the default is NO_WORK

A marker starts its line, outside code fences and quotes. A line that looks like a marker but is not
taken is reported as ignored, with the reason. The result does not depend on chunk boundaries, and
repeating a marker's text has no further effect.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from agents.lifecycle import Outcome
from agents.running.runtime import Ignored, Mail, Noticed, Reported
from agents.text.storable import is_blank
from asks.drafts import AskDraft
from workspace.protocols.markers import grammar
from workspace.protocols.markers.fences import Fences, Placed
from workspace.protocols.markers.lines import LineFeed
from workspace.protocols.markers.questions import MarkerQuestion, draft_question, split_options

MAX_ASKS = 10
MAX_INFORMING = 50
MAX_MAILS = 20
MAX_IGNORED = 50
MAX_REPORT = 4_000
MAX_SHOWN_LINE = 300

Landed = Reported | Noticed | Ignored
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?P<label>\S.*)")


@dataclass(frozen=True)
class Reading:
    """The result of a turn's text. ``landed`` contains what feed() has not returned before."""

    landed: tuple[Landed, ...]
    outcome: Outcome
    outcome_words: str
    asks: tuple[AskDraft, ...]
    mails: tuple[Mail, ...]
    report: str


def once_key(kind: str, text: str) -> str:
    """Return the key that identifies a marker within its run, so that it takes effect only once."""
    return hashlib.sha256(f"{kind}\n{text}".encode("utf-8", "replace")).hexdigest()


class Reader:
    """Read one turn: feed the agent's text, then call finish() once."""

    def __init__(self, request_prefix: str = "") -> None:
        """``request_prefix`` is put before the request keys of asks to keep the runs apart."""
        self._prefix = request_prefix
        self._lines = LineFeed()
        self._fences = Fences()
        self._landed: list[Landed] = []
        self._ignored = 0
        self._informed = 0
        self._once: set[str] = set()
        self._prose: list[str] = []
        self._questions: list[MarkerQuestion] = []
        self._goes_on = ""
        self._may_offer = False
        self._mails: list[Mail] = []
        self._outcome: tuple[Outcome, str] = (Outcome.NO_WORK, "")

    def feed(self, chunk: str) -> list[Landed]:
        """Read a chunk of text. Return the events that can be reported immediately."""
        for line in self._lines.feed(chunk):
            self._place(self._fences.feed(line))
        return self._give_out()

    def finish(self) -> Reading:
        """Read the rest, and return everything that takes effect at the end of the turn."""
        for line in self._lines.rest():
            self._place(self._fences.feed(line))
        self._place(self._fences.finish())
        asks = self._asks()
        outcome, outcome_words = self._outcome
        if self._ignored > MAX_IGNORED:
            more = f"{self._ignored - MAX_IGNORED} more lines"
            self._landed.append(Ignored(more, "they also looked like markers and were not taken"))
        return Reading(
            landed=tuple(self._give_out()),
            outcome=outcome,
            outcome_words=outcome_words,
            asks=asks,
            mails=tuple(self._mails),
            report=_report(self._prose),
        )

    # Line by line.

    def _place(self, lines: list[Placed]) -> None:
        for placed in lines:
            marker = grammar.read_marker(placed.line)
            if placed.fenced:
                self._goes_on_with(placed.line)
                if marker:
                    self._ignore(placed.line, "it is inside a code fence")
            elif marker:
                self._goes_on = ""
                self._marker(marker, placed.line)
            else:
                self._plain(placed.line)

    def _plain(self, line: str) -> None:
        if why := grammar.near_miss(line):
            self._ignore(line, why)
        if self._goes_on == "ASK" and not line.strip() and not self._questions[-1].prompt:
            return
        if self._goes_on == "OPTIONS":
            self._listed_option(line)
            return
        if not line.strip():
            self._goes_on = ""
        self._goes_on_with(line)

    def _goes_on_with(self, line: str) -> None:
        """Add a line to the current question, or else to the prose."""
        if self._goes_on == "ASK":
            self._questions[-1].lines.append(line)
        else:
            self._prose.append(line)

    def _listed_option(self, line: str) -> None:
        """Read a list item after a bare ``OPTIONS:`` as an option."""
        offered = self._questions[-1].offered
        if offered is None or (not line.strip() and not offered):
            return
        if item := _LIST_ITEM.fullmatch(line):
            offered.append(item["label"].strip())
        else:
            self._goes_on = ""
            self._prose.append(line)

    # Marker by marker.

    def _marker(self, marker: grammar.Marker, line: str) -> None:
        match marker.kind:
            case "REPORT" | "NOTIFY":
                self._inform(marker, line)
            case "ASK":
                self._ask(marker)
            case "OPTIONS":
                self._offer(marker, line)
            case "SEND":
                self._send(marker, line)
            case _:
                self._end(marker, line)

    def _inform(self, marker: grammar.Marker, line: str) -> None:
        if grammar.is_placeholder(marker.text):
            self._ignore(line, "it is the example from the instructions")
        elif is_blank(marker.text):
            self._ignore(line, "it says nothing")
        elif not self._first(marker.kind, marker.text):
            return
        elif self._informed >= MAX_INFORMING:
            self._ignore(line, f"a turn may make at most {MAX_INFORMING} reports and notices")
        else:
            self._informed += 1
            event = Reported if marker.kind == "REPORT" else Noticed
            self._landed.append(event(marker.text))

    def _ask(self, marker: grammar.Marker) -> None:
        self._questions.append(MarkerQuestion([marker.text], grammar.is_placeholder(marker.text)))
        self._goes_on = "ASK"
        self._may_offer = True

    def _offer(self, marker: grammar.Marker, line: str) -> None:
        if not self._may_offer:
            self._ignore(line, "no ASK precedes it")
        elif self._questions[-1].offered is not None:
            self._ignore(line, "the question before it already has its options")
        else:
            self._questions[-1].offered = split_options(marker.text)
            self._questions[-1].options_line = line
            self._goes_on = "" if marker.text else "OPTIONS"

    def _send(self, marker: grammar.Marker, line: str) -> None:
        mail = grammar.read_send(marker.text)
        if mail is None or grammar.is_placeholder(mail[1]):
            self._ignore(line, "mail is written as SEND: @agent text")
        elif not self._first("SEND", f"{mail[0]} {mail[1]}"):
            return
        elif len(self._mails) >= MAX_MAILS:
            self._ignore(line, f"a turn may send at most {MAX_MAILS} messages")
        else:
            self._mails.append(Mail(*mail))

    def _end(self, marker: grammar.Marker, line: str) -> None:
        self._may_offer = False
        if outcome := grammar.read_outcome(marker.text):
            self._outcome = outcome
        else:
            self._ignore(line, "it names no known outcome")

    # At the end.

    def _asks(self) -> tuple[AskDraft, ...]:
        """Draft the questions. Of several with the same text, the first one with options wins."""
        drafts: dict[str, AskDraft] = {}
        for question in self._questions:
            key = f"{self._prefix}{once_key('ASK', question.prompt)}"
            if key not in drafts and len(drafts) >= MAX_ASKS:
                self._ignore(question.line, f"a turn may ask at most {MAX_ASKS} questions")
                continue
            ask, ignored = draft_question(question, key)
            for one in ignored:
                self._ignore(one.line, one.why)
            if ask and not (key in drafts and drafts[key].options):
                drafts[key] = ask
        return tuple(drafts.values())

    def _first(self, kind: str, text: str) -> bool:
        key = once_key(kind, text)
        new = key not in self._once
        self._once.add(key)
        return new

    def _ignore(self, line: str, why: str) -> None:
        if self._once_ignored(line, why):
            return
        self._ignored += 1
        if self._ignored <= MAX_IGNORED:
            self._landed.append(Ignored(_shown(line), why))

    def _once_ignored(self, line: str, why: str) -> bool:
        return not self._first("IGNORED", f"{why}\n{line}")

    def _give_out(self) -> list[Landed]:
        landed, self._landed = self._landed, []
        return landed


def _shown(line: str) -> str:
    line = line.strip()
    return line if len(line) <= MAX_SHOWN_LINE else f"{line[:MAX_SHOWN_LINE]}…"


def _report(prose: list[str]) -> str:
    """Return the text outside markers, truncated, with runs of blank lines collapsed."""
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in prose)).strip()
    return text if len(text) <= MAX_REPORT else f"{text[:MAX_REPORT].rstrip()}…"
