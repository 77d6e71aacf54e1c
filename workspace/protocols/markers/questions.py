"""A question as it is read off several lines, and the draft that becomes of it."""

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
    """An ASK while its lines still come. ``example`` says that it is the protocol's own text."""

    lines: list[str]
    example: bool = False
    offered: list[str] | None = None
    options_line: str = ""

    @property
    def prompt(self) -> str:
        return "\n".join(self.lines).strip()

    @property
    def line(self) -> str:
        """How to name it in a few words: ``ASK:`` and its first line."""
        return f"ASK: {self.prompt.partition(chr(10))[0]}".strip()


@dataclass
class MarkerOption:
    """What an OPTIONS line offers, and what of it was not taken."""

    options: tuple[OptionDraft, ...] = ()
    free_text: bool = False
    ignored: list[Ignored] = field(default_factory=list)


def split_options(text: str) -> list[str]:
    r"""The labels of ``a | b``. A pipe inside a label is written ``\|``; empty ones are dropped."""
    labels = (part.replace(r"\|", "|").strip() for part in _SPLIT.split(text))
    return [label for label in labels if label]


def draft_question(
    question: MarkerQuestion, request_key: str
) -> tuple[AskDraft | None, list[Ignored]]:
    """The ask that becomes of a question, or None, and what was not taken with the reason."""
    if question.example:
        return None, [Ignored(question.line, "it is the example from the instructions")]
    if is_blank(question.prompt):
        return None, [Ignored(question.line, "it asks nothing")]
    if len(question.prompt) > MAX_PROMPT:
        long = f"the question is {len(question.prompt)} characters long; {MAX_PROMPT} are the most"
        return None, [Ignored(question.line, long)]
    choice = _choice(question)
    ask = AskDraft(
        request_key=request_key,
        prompt=question.prompt,
        options=choice.options,
        free_text=choice.free_text or not choice.options,
    )
    return ask, choice.ignored


def _choice(question: MarkerQuestion) -> MarkerOption:
    """Two options or more are a choice. Anything less is answered in words, and that is said."""
    choice = MarkerOption()
    if question.offered is None:
        return choice
    choice.free_text = any(label in _OR_IN_WORDS for label in question.offered)
    labels = [label for label in question.offered if label not in _OR_IN_WORDS]
    options = tuple(_options(labels, question.options_line, choice.ignored))
    if why := _why_not(options):
        choice.ignored.append(Ignored(question.options_line, f"{why}; the owner answers in words"))
    else:
        choice.options = options
    return choice


def _why_not(options: tuple[OptionDraft, ...]) -> str:
    if len(options) < 2:
        return f"{('no', 'one')[len(options)]} option is no choice"
    if len(options) > MAX_OPTIONS:
        return f"{len(options)} options are offered; {MAX_OPTIONS} are the most"
    if longest := max(
        (len(option.label) for option in options if len(option.label) > MAX_LABEL), default=0
    ):
        return f"an option is {longest} characters long; {MAX_LABEL} are the most"
    return ""


def _options(labels: Iterable[str], line: str, ignored: list[Ignored]) -> Iterable[OptionDraft]:
    """One option per different label; a trailing ``(!)`` marks a destructive one."""
    seen: set[str] = set()
    keys: set[str] = set()
    for number, marked in enumerate(labels, start=1):
        label = _DANGER.sub("", marked)
        if is_blank(label):
            ignored.append(Ignored(line, "an option has no words"))
        elif label in seen:
            ignored.append(Ignored(line, f"the option “{label[:80]}” is offered twice"))
        else:
            seen.add(label)
            style = Style.DANGER if label != marked else Style.DEFAULT
            yield OptionDraft(_key(label, number, keys), label, style=style)


def _key(label: str, number: int, taken: set[str]) -> str:
    """A slug of the label that no other option has; ``opt<number>`` if nothing is left of it."""
    plain = unicodedata.normalize("NFKD", label[:1000]).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_KEY].strip("-") or f"opt{number}"
    key, again = slug, 2
    while key in taken:
        key, again = f"{slug}-{again}", again + 1
    taken.add(key)
    return key
