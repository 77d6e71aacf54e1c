"""What a turn of any protocol begins with: settings that can be used, or an end that says why not."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agents.lifecycle import Outcome
from agents.running.runtime import Ended, Turn

S = TypeVar("S", bound=BaseModel)


class TurnEnded(Exception):
    """The turn ends here, with this."""

    def __init__(self, ended: Ended) -> None:
        super().__init__()
        self.ended = ended


def permanent_failure(words: str) -> Ended:
    """An end that trying again would not change: the session waits for a person."""
    return Ended(outcome=Outcome.RETRYABLE_ERROR, error=words, give_up=True)


def settings_of(turn: Turn, kind: type[S]) -> S:
    """The agent's settings. Raises Over for such as cannot be used any more, naming the field."""
    try:
        return kind.model_validate(turn.agent.settings)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "settings"
        words = f"The agent's settings are not usable. {where}: {problem['msg']}."
        raise TurnEnded(permanent_failure(words)) from error


def check_attempts(turn: Turn, most: int) -> None:
    """Raise Over for a turn whose worker has ended under it more often than that."""
    if turn.epoch > most:
        raise TurnEnded(
            permanent_failure(f"Its worker ended {turn.epoch - 1} times while it was at work.")
        )
