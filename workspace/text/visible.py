"""Make invisible characters visible that could mislead a reader.

The text of an agent (or a file it read) can contain direction overrides, zero-width characters, tag
characters or control characters. Each is replaced by its code in brackets, such as `⟦U+202E⟧`, so that
an owner decides about the real text. Joiners are kept only where a script or an emoji needs them.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for tab and line ends
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
    "]"
)
# The flags of England, Scotland and Wales are the only ones that tag characters spell.
_FLAGS = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)
_JOINING = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x0F00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x1800, 0x18AF),
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){4,}")


def visible(text: str) -> str:
    """Return `text` with hidden characters replaced by their codes; line ends become `\\n`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not _HIDDEN.search(text):
        return text
    return "".join(
        _outside_flags(part) if index % 2 == 0 else part
        for index, part in enumerate(_split_flags(text))
    )


def visible_line(text: str) -> str:
    """Return `visible` text on one line, for labels and names: white space becomes single spaces."""
    return " ".join(visible(text).split())


def fold_blank_lines(text: str) -> str:
    """Replace four or more blank lines by one that counts them, so that none hide other text."""
    return _BLANK_LINES.sub(lambda run: f"\n⟦{run.group().count(chr(10)) - 1} blank lines⟧\n", text)


def _split_flags(text: str) -> list[str]:
    """Return text outside and inside of flags with tag characters, alternating, outside first."""
    parts: list[str] = []
    end = 0
    for flag in _FLAGS.finditer(text):
        parts += [text[end : flag.start()], flag.group()]
        end = flag.end()
    return [*parts, text[end:]]


def _outside_flags(text: str) -> str:
    return _HIDDEN.sub(lambda found: _name_or_keep(text, found.start()), text)


def _name_or_keep(text: str, at: int) -> str:
    char = text[at]
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if char in "\u200c\u200d" and before and after and _joins(before, after):
        return char
    if char in "\ufe0e\ufe0f" and before and _takes_variation(before):
        return char
    return f"⟦U+{ord(char):04X}⟧"


def _joins(before: str, after: str) -> bool:
    """Return whether a joiner is needed: between two emoji, or letters of a joining script."""
    if _is_emoji(after) and (_is_emoji(before) or before == "\ufe0f"):
        return True
    return _in_joining_script(before) and _in_joining_script(after)


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) in ("So", "Sk") or char in "\u2640\u2642"


def _takes_variation(char: str) -> bool:
    return char in "#*0123456789" or unicodedata.category(char) in ("So", "Sm", "Po")


def _in_joining_script(char: str) -> bool:
    return (
        any(low <= ord(char) <= high for low, high in _JOINING)
        and unicodedata.category(char)[0] in "LM"
    )
