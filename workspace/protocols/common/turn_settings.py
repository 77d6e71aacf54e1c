"""Read an agent's settings at the start of a turn, or end the turn with the reason why not."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn

S = TypeVar("S", bound=BaseModel)


class TurnEnded(Exception):
    """Raised to end the turn with ``ended``."""

    def __init__(self, ended: Ended) -> None:
        super().__init__()
        self.ended = ended


def permanent_failure(error: str) -> Ended:
    """Build the end of a turn that a retry cannot help. The session then waits for a person."""
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error, give_up=True)


def end_unstartable(error: str) -> Ended:
    """Build the end of a turn that did not start, because what the settings name is unusable."""
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=error, give_up=True, cannot_start=True)


def settings_of(turn: Turn, kind: type[S]) -> S:
    """Return the agent's settings. Raises TurnEnded if they are invalid, and names the field."""
    try:
        return kind.model_validate(turn.agent.settings)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "settings"
        error_text = f"The agent's settings are not usable. {where}: {problem['msg']}."
        raise TurnEnded(end_unstartable(error_text)) from error


def check_attempts(turn: Turn, most: int) -> None:
    """Raise TurnEnded if more than ``most`` workers have taken this turn."""
    if turn.epoch > most:
        raise TurnEnded(
            permanent_failure(f"Its worker ended {turn.epoch - 1} times while it was at work.")
        )
