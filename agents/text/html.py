"""Turns an agent's words into HTML by the renderer that the settings name.

The renderer lives in an upper layer; ``settings.AGENT_TEXT_RENDERER`` is its dotted path.
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
    """Sanitised HTML of markdown text, empty for no text."""
    return str(_renderer(settings.AGENT_TEXT_RENDERER)(text)) if text else ""
