"""Render text as HTML with the renderer of ``settings.AGENT_TEXT_RENDERER``.

The renderer is in an upper layer, so the setting gives its dotted path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string


@cache
def _renderer(path: str) -> Callable[[str], str]:
    renderer: Callable[[str], str] = import_string(path)
    return renderer


def render_html(text: str) -> str:
    """Return the sanitised HTML of a Markdown text; empty for an empty text."""
    return str(_renderer(settings.AGENT_TEXT_RENDERER)(text)) if text else ""
