"""Every sentence that the pages show goes through gettext.

The rule reads the syntax tree of ``workspace/pages`` and ``workspace/live``. Three things are wrong:

1. a literal sentence outside gettext: text that starts with a capital letter and holds a space,
   in a string or an f-string, unless it is a docstring or a log message;
2. a bare literal passed to one of ``SHOWING`` or as one of ``SHOWN_KEYWORDS``, however short;
3. an f-string inside gettext: no translation has its text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from workspace.local.state import PROJECT

GETTEXT = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext"}
LOGGING = {"debug", "info", "warning", "error", "exception"}
SHOWING = {"HttpResponse", "ValidationError", "toast_html", "problem"}
SHOWN_KEYWORDS = {"label", "help_text", "empty_label", "link", "words"}
SENTENCE = re.compile(r"[A-Z][a-z']*[,:;]? [\w{]")
FILES = sorted(
    path for name in ("pages", "live") for path in (PROJECT / "workspace" / name).rglob("*.py")
)


def name_of(call: ast.Call) -> str:
    """Return the called name without what stands before its last dot."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_on(call: ast.Call, owner: str) -> bool:
    """Whether the call is a method of the thing with this name."""
    function = call.func
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == owner


def text_of(node: ast.AST) -> str | None:
    """Return the fixed text of a string or an f-string; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    return None


def breaches_of(node: ast.AST) -> Iterator[str]:
    """Yield each literal under a node that the rule forbids, with its line."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, ast.Call) and name_of(node) in GETTEXT:
        formatted = (one for one in ast.walk(node) if isinstance(one, ast.JoinedStr))
        yield from (f"line {one.lineno}: an f-string inside gettext" for one in formatted)
        return
    if isinstance(node, ast.Call) and is_on(node, "log") and name_of(node) in LOGGING:
        return
    bare = {id(one) for one in shown_arguments(node)}
    for child in children_of(node):
        text = text_of(child)
        if text is None:
            yield from breaches_of(child)
        elif SENTENCE.match(text) or (id(child) in bare and re.search(r"[A-Za-z]", text)):
            yield f"line {child.lineno}: {text!r}"  # type: ignore[attr-defined]
        else:
            yield from breaches_of(child)


def children_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the direct children of a node; of a keyword argument, its value."""
    for child in ast.iter_child_nodes(node):
        yield child.value if isinstance(child, ast.keyword) else child


def shown_arguments(node: ast.AST) -> list[ast.AST]:
    """Return the arguments of a call that a person reads."""
    if not isinstance(node, ast.Call):
        return []
    shows = name_of(node) in SHOWING or is_on(node, "messages")
    keywords = [one.value for one in node.keywords if one.arg in SHOWN_KEYWORDS]
    return [*node.args, *keywords] if shows else [*keywords]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_shown_text_goes_through_gettext(path: Path) -> None:
    assert list(breaches_of(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "code",
    [
        "messages.success(request, 'done')",
        "messages.success(request, f'{slug} is paused.')",
        "HttpResponse('signed out', status=401)",
        "raise ValidationError(f'no {name}')",
        "forms.CharField(label='Name')",
        "return 'Only when a person starts it.'",
        "return f'Every {span}.'",
        "_(f'{slug} is started.')",
    ],
)
def test_the_rule_finds_it(code: str) -> None:
    assert len(list(breaches_of(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "messages.success(request, _('It is asked again.'))",
        "_('{agent} is paused.').format(agent=slug)",
        "forms.CharField(label=gettext_lazy('Name'))",
        "'''A docstring is not shown.'''",
        "log.exception('Listening broke; beginning again.')",
        "redirect('agent', slug)",
        "HttpResponse(card + extra, status=409)",
    ],
)
def test_the_rule_lets_it_pass(code: str) -> None:
    assert list(breaches_of(ast.parse(code))) == []
