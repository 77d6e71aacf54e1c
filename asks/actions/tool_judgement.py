"""Have an agent's own tool judge a call before a person approves it in another form."""

from __future__ import annotations

import logging
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from agents.running import runtime
from agents.text.canonical_json import Json
from asks.actions.schema import Flaw

log = logging.getLogger(__name__)


def judge_by_tool(agent: Agent, operation: str, params: Json) -> list[Flaw] | None:
    """Return what the tool itself finds wrong with params. None if its runtime has no local tools.

    A tool that cannot be asked rejects the edit: nothing is approved that may not be callable.
    """
    try:
        taker: Any = runtime.find_runtime(agent.runtime)
    except LookupError:
        return None
    judge = getattr(taker, "find_input_flaws", None)
    if judge is None:
        return None
    try:
        return [Flaw(path, why) for path, why in judge(agent.settings, operation, params)]
    except Exception:
        log.exception("A tool of %s could not judge its input.", agent.slug)
        why = _("The tool cannot check this now. Approve or deny the call as it is.")
        return [Flaw("", why)]
