"""Colour code with CSS classes, never with styles: lines of escaped HTML.

Pygments reads the text; this module keeps every character of it, in its order, whatever Pygments
makes of it. Only languages of the list below are coloured, and only short texts: the time that a
lexer takes may grow with the square of what it reads.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from django.utils.html import escape
from django.utils.safestring import SafeString
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from workspace.text.markdown import assembled

MAX_COLOURED = 12_000
"""Characters. A longer text has no colours."""
MAX_LINE = 500
"""Characters of a line. A text with a longer line has no colours."""
MAX_SECONDS = 0.2
"""Processor time. A text that takes longer has no colours."""

#: The file names of a language, by their ends, and the names that people give it.
LANGUAGES = {
    "python": (".py", ".pyi", "python", "py"),
    "json": (".json", "json"),
    "yaml": (".yaml", ".yml", "yaml"),
    "toml": (".toml", "toml"),
    "bash": (".sh", ".bash", ".zsh", "bash", "shell", "sh", "command", "cmd", "script"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx", "javascript", "js"),
    "typescript": (".ts", ".tsx", "typescript", "ts"),
    "html": (".html", ".htm", ".svg", ".xml", "html"),
    "css": (".css", ".scss", "css"),
    "sql": (".sql", "sql"),
    "go": (".go", "go"),
    "rust": (".rs", "rust"),
    "java": (".java", "java"),
    "kotlin": (".kt", "kotlin"),
    "c": (".c", ".h", "c"),
    "cpp": (".cpp", ".cc", ".hpp", "cpp"),
    "csharp": (".cs", "csharp"),
    "ruby": (".rb", "ruby"),
    "php": (".php", "php"),
    "ini": (".ini", ".cfg", ".conf", ".env", "ini"),
    "docker": ("dockerfile",),
    "make": ("makefile",),
}
NAMES = {
    "json": "JSON",
    "yaml": "YAML",
    "toml": "TOML",
    "html": "HTML",
    "css": "CSS",
    "sql": "SQL",
    "bash": "Shell",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "cpp": "C++",
    "csharp": "C#",
    "php": "PHP",
    "ini": "Configuration",
}
_SHEBANG = re.compile(r"#!.*\b(python|bash|sh|zsh|node|ruby|php)\b")
_SHEBANGS = {"zsh": "bash", "sh": "bash", "node": "javascript"}
_SQL = re.compile(
    r"\s*(select\b.+\bfrom|insert\s+into|update\b.+\bset|delete\s+from|alter\s+table"
    r"|create\s+(table|index|view)|drop\s+(table|index|view|database)|with\b.+\bselect)\b",
    re.IGNORECASE | re.DOTALL,
)
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "c"),
    (Token.Keyword, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "n"),
    (Token.Name.Tag, "k"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Attribute, "f"),
    (Token.Name.Builtin, "f"),
    (Token.Name.Decorator, "f"),
)


@dataclass(frozen=True)
class TextRun:
    """A stretch of a line: its text and the letter of its class, or none."""

    text: str
    kind: str = ""


Line = tuple[TextRun, ...]


def language_of(name: str, path: str, text: str) -> str:
    """Return the language of a text by the path or the name that goes with it, or ""."""
    found = _SHEBANG.match(text[:200])
    if found:
        return _SHEBANGS.get(found[1], found[1])
    for word in (path.casefold().rpartition("/")[2], name.casefold()):
        for language, ends in LANGUAGES.items():
            if word in ends or any(end[0] == "." and word.endswith(end) for end in ends):
                return language
    return "sql" if _SQL.match(text[:2000]) else ""


def name_of(language: str) -> str:
    """Return what people call a language."""
    return NAMES.get(language, language.capitalize())


@lru_cache(maxsize=128)
def coloured_lines(text: str, language: str) -> tuple[Line, ...]:
    """Split a text into its lines, and each into runs. Together they are the text, unchanged."""
    runs = [TextRun(text)]
    if language and len(text) <= MAX_COLOURED and max(map(len, text.split("\n"))) <= MAX_LINE:
        coloured = [TextRun(part, kind) for kind, part in _tokens_in_time(text, language)]
        if text_of(coloured) == text:
            runs = coloured
    return tuple(_split(runs))


def text_of(line: Iterable[TextRun]) -> str:
    """Return the text of runs."""
    return "".join(run.text for run in line)


def _tokens_in_time(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield tokens until time is up. Then the text is not whole, and has no colours."""
    end = time.thread_time() + MAX_SECONDS
    return takewhile(lambda _token: time.thread_time() < end, _tokens(text, language))


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    for _at, token, part in _lexer(language).get_tokens_unprocessed(text):
        yield next((kind for found, kind in _CLASSES if token in found), ""), part


@lru_cache(maxsize=len(LANGUAGES))
def _lexer(language: str) -> Lexer:
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return get_lexer_by_name("text")


def _split(runs: list[TextRun]) -> Iterator[Line]:
    """Yield the lines of runs that may hold line breaks."""
    line: list[TextRun] = []
    for run in runs:
        first, *rest = run.text.split("\n")
        line.append(TextRun(first, run.kind))
        for part in rest:
            yield _joined(line)
            line = [TextRun(part, run.kind)]
    yield _joined(line)


def _joined(line: list[TextRun]) -> Line:
    """Return a line whose neighbouring runs of one kind are one run."""
    joined: list[TextRun] = []
    for run in line:
        if joined and joined[-1].kind == run.kind:
            joined[-1] = TextRun(joined[-1].text + run.text, run.kind)
        elif run.text:
            joined.append(run)
    return tuple(joined)


def line_html(line: Line, mark: tuple[int, int] = (0, 0)) -> SafeString:
    """Return a line as HTML. ``mark`` is a stretch of it to emphasise; space at its end is marked."""
    space = len(text_of(line).rstrip(" \t"))
    parts, at = [], 0
    for run in line:
        cuts = {0, len(run.text)}
        cuts |= {cut - at for cut in (*mark, space) if 0 < cut - at < len(run.text)}
        for start, end in pairwise(sorted(cuts)):
            inside = mark[0] <= at + start < mark[1]
            kinds = (run.kind, "x" if inside else "", "w" if at + start >= space else "")
            parts.append(
                _span(run.text[start:end], " ".join(f"hl-{kind}" for kind in kinds if kind))
            )
        at += len(run.text)
    return assembled("".join(parts))


def _span(text: str, classes: str) -> str:
    return f'<span class="{classes}">{escape(text)}</span>' if classes else escape(text)
