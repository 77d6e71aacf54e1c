"""Check the settings of runtimes that import a model or call a server, before they are saved."""

from __future__ import annotations

import os

import httpx
from django.utils.translation import gettext as _

from agents.mending.checks import Finding
from agents.running.runtime import Turn
from workspace.protocols.common.model_registry import NoSuchModel

#: How long a server has to answer a check, in seconds.
PATIENCE = 4.0


def check_server(
    base_url: str, key_variable: str = "", *, transport: httpx.BaseTransport | None = None
) -> list[Finding]:
    """Check that a server answers at all, and that this machine has the variable of its key.

    Any answer will do: an address without a page is usual. The body of the answer is not read.
    """
    found = [] if not key_variable else _check_variable(key_variable)
    timeout = httpx.Timeout(PATIENCE)
    try:
        with (
            httpx.Client(transport=transport, trust_env=False, timeout=timeout) as client,
            client.stream("GET", base_url) as reply,
        ):
            status = reply.status_code
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        words = _("{url} does not answer: {error}.")
        why = str(error).rstrip(".") or type(error).__name__
        return [Finding("base_url", words.format(url=base_url, error=why)), *found]
    if status >= 500:
        words = _("{url} answers with status {status}.")
        return [Finding("base_url", words.format(url=base_url, status=status)), *found]
    words = _("{url} answers. Its key and its agent were not checked.")
    return [*found, Finding("base_url", words.format(url=base_url), False)]


def _check_variable(name: str) -> list[Finding]:
    if os.environ.get(name):
        return []
    words = _("{name} is not set on this machine. The worker must have it.")
    return [Finding("key_variable", words.format(name=name), False)]


def note_model(name: str, error: NoSuchModel) -> Finding:
    """Return the note that a model could not be prepared here. A worker may have its key."""
    words = _("The model “{name}” was not checked here: {error}")
    return Finding("model", words.format(name=name, error=str(error)[:300]), False)


def sent_prompt(turn: Turn, usual: str = "") -> str:
    """Return what a turn sends to an agent elsewhere: what came since the last turn, or the usual."""
    given = [one.body for one in turn.given]
    return "\n\n".join(given) or usual or turn.agent.mission
