"""A question read from several lines, and the ask drafted from it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.running.runtime import Ignored
from agents.text.storable import is_blank
from asks.drafts import AskDraft, OptionDraft
from asks.lifecycle import Style

MAX_PROMPT = 20_000
MAX_OPTIONS = 60
MAX_LABEL = 4_000
MAX_KEY = 48

_DANGER = re.compile(r"\s*\(!\)\Z")
_SPLIT = re.compile(r"(?<!\\)\|")
_OR_IN_WORDS = ("...", "…")


@dataclass
class MarkerQuestion:
    """An ASK whose lines are still arriving. ``example``: it repeats the protocol's own text."""

    lines: list[str]
    example: bool = False
    offered: list[str] | None = None
    options_line: str = ""

    @property
    def prompt(self) -> str:
        return "\n".join(self.lines).strip()

    @property
    def line(self) -> str:
        """Return a short name for the question: ``ASK:`` and its first line."""
        return f"ASK: {self.prompt.partition(chr(10))[0]}".strip()


@dataclass
class MarkerOption:
    """The parsed OPTIONS line of a question, and the parts that were ignored."""

    options: tuple[OptionDraft, ...] = ()
    free_text: bool = False
    ignored: list[Ignored] = field(default_factory=list)


def split_options(text: str) -> list[str]:
    r"""Return the labels of ``a | b``. ``\|`` is a pipe inside a label; empty labels are dropped."""
    labels = (part.replace(r"\|", "|").strip() for part in _SPLIT.split(text))
    return [label for label in labels if label]


def draft_question(
    question: MarkerQuestion, request_key: str
) -> tuple[AskDraft | None, list[Ignored]]:
    """Return the ask drafted from a question, or None, and the ignored parts with their reasons."""
    if question.example:
        return None, [Ignored(question.line, "it is the example from the instructions")]
    if is_blank(question.prompt):
        return None, [Ignored(question.line, "it asks nothing")]
    if len(question.prompt) > MAX_PROMPT:
        long = (
            f"the question has {len(question.prompt)} characters; at most {MAX_PROMPT} are allowed"
        )
        return None, [Ignored(question.line, long)]
    choice = _choice(question)
    ask = AskDraft(
        request_key=request_key,
        prompt=question.prompt,
        options=choice.options,
        free_text=choice.free_text or not choice.options,
        by_words=True,
    )
    return ask, choice.ignored


def _choice(question: MarkerQuestion) -> MarkerOption:
    """Parse the options. With fewer than two, the ask takes free text and the line is ignored."""
    choice = MarkerOption()
    if question.offered is None:
        return choice
    choice.free_text = any(label in _OR_IN_WORDS for label in question.offered)
    labels = [label for label in question.offered if label not in _OR_IN_WORDS]
    options = tuple(_options(labels, question.options_line, choice.ignored))
    if why := _why_not(options):
        choice.ignored.append(
            Ignored(question.options_line, f"{why}; the owner answers in free text")
        )
    else:
        choice.options = options
    return choice


def _why_not(options: tuple[OptionDraft, ...]) -> str:
    if len(options) < 2:
        return f"{('no', 'one')[len(options)]} option is not a choice"
    if len(options) > MAX_OPTIONS:
        return f"it offers {len(options)} options; at most {MAX_OPTIONS} are allowed"
    if longest := max(
        (len(option.label) for option in options if len(option.label) > MAX_LABEL), default=0
    ):
        return f"an option has {longest} characters; at most {MAX_LABEL} are allowed"
    return ""


def _options(labels: Iterable[str], line: str, ignored: list[Ignored]) -> Iterable[OptionDraft]:
    """Yield one option per distinct label. A trailing ``(!)`` marks a destructive option."""
    seen: set[str] = set()
    keys: set[str] = set()
    for number, marked in enumerate(labels, start=1):
        label = _DANGER.sub("", marked)
        if is_blank(label):
            ignored.append(Ignored(line, "an option is blank"))
        elif label in seen:
            ignored.append(Ignored(line, f"the option “{label[:80]}” is offered twice"))
        else:
            seen.add(label)
            style = Style.DANGER if label != marked else Style.DEFAULT
            yield OptionDraft(_key(label, number, keys), label, style=style)


def _key(label: str, number: int, taken: set[str]) -> str:
    """Return a unique slug of the label, or ``opt<number>`` if the slug would be empty."""
    plain = unicodedata.normalize("NFKD", label[:1000]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_KEY].strip("-") or f"opt{number}"
    key, again = slug, 2
    while key in taken:
        key, again = f"{slug}-{again}", again + 1
    taken.add(key)
    return key
