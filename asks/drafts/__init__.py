"""The neutral shape that every protocol turns its questions into."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from asks.lifecycle import AskKind, Meaning, Style


@dataclass(frozen=True)
class OptionDraft:
    """An answer to offer. The key is stable: it is what a verdict will name."""

    key: str
    label: str
    detail: str = ""
    style: Style = Style.DEFAULT
    meaning: Meaning = Meaning.ANSWER


@dataclass(frozen=True)
class ActionDraft:
    """What an approval releases: exactly this operation with exactly these params (JSON).

    ``files`` are paths whose content is bound too. With ``always_asks`` the protocol itself waits
    for a person, so that no policy can let it pass. ``schema`` is the JSON Schema
    (2020-12) of the params, where the protocol knows it: what an owner changes before approving must
    fit it. False, like a schema that cannot be used: no other call than this can be carried out.
    """

    operation: str
    params: Any
    money_critical: bool = False
    files: tuple[str, ...] = ()
    always_asks: bool = False
    schema: dict[str, Any] | Literal[False] | None = None


@dataclass(frozen=True, kw_only=True)
class AskDraft:
    """A question to be raised.

    ``request_key`` is the protocol's name for it, unique in the session: raising it again raises
    nothing. With no options the answer is words, so ``free_text`` is then true whatever it says.
    """

    request_key: str
    prompt: str
    kind: AskKind = AskKind.QUESTION
    options: tuple[OptionDraft, ...] = ()
    free_text: bool = False
    action: ActionDraft | None = None
    context: dict[str, Any] = field(default_factory=dict)
    expires_in: timedelta | None = None
