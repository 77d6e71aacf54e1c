"""The common form of a question, which every protocol converts its own questions to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from asks.lifecycle import AskKind, Meaning, Style
from asks.policies.wording import UNSAID, Wording


@dataclass(frozen=True)
class OptionDraft:
    """An answer to offer. The key is stable: a verdict names it."""

    key: str
    label: str
    detail: str = ""
    style: Style = Style.DEFAULT
    meaning: Meaning = Meaning.ANSWER


@dataclass(frozen=True)
class ActionDraft:
    """The action that an approval releases: exactly this operation with exactly these params (JSON).

    ``files`` are paths whose content is bound too. With ``always_asks`` the protocol itself waits
    for a person, so no policy can allow the action without one. ``schema`` is the JSON Schema
    (2020-12) of the params, if the protocol knows it: an owner's edit must fit it. If it is False or
    unusable, the call cannot be edited. ``wording`` is how the tool describes such an action; the
    policy's words come first.
    """

    operation: str
    params: Any
    money_critical: bool = False
    files: tuple[str, ...] = ()
    always_asks: bool = False
    schema: dict[str, Any] | Literal[False] | None = None
    wording: Wording = UNSAID


@dataclass(frozen=True, kw_only=True)
class AskDraft:
    """A question to raise.

    ``request_key`` is the protocol's name for it, unique in the session: raising it again does
    nothing. Without options the answer is text, whatever ``free_text`` says. ``by_words``: the
    protocol has no names for its questions, so the same words are the same question.
    """

    request_key: str
    prompt: str
    kind: AskKind = AskKind.QUESTION
    options: tuple[OptionDraft, ...] = ()
    free_text: bool = False
    action: ActionDraft | None = None
    context: dict[str, Any] = field(default_factory=dict)
    expires_in: timedelta | None = None
    by_words: bool = False
