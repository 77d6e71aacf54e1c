"""Models by their names: any that pydantic-ai knows, and those that somebody made known here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_known: dict[str, Callable[[], Model]] = {}


class NoSuchModel(Exception):
    """A model that cannot be used as things are set up, with why not."""


def register_model(name: str, make: Callable[[], Model]) -> None:
    """Have a name stand for a model of one's own making."""
    _known[name] = make


def model_named(name: str) -> Model:
    """The model of that name. Raises NoSuchModel, which trying again does not change."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if name in _known:
        return _known[name]()
    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as error:
        raise NoSuchModel(f"The model “{name}” cannot be used: {error}") from error


def is_limit(error: Exception) -> bool:
    """Whether a vendor's quota is used up, which passes by itself."""
    from pydantic_ai import exceptions as known

    return isinstance(error, known.ModelRateLimitError | known.ModelQuotaExceededError)


def is_for_good(error: Exception) -> bool:
    """Whether settings are wrong, so that trying again changes nothing."""
    from pydantic_ai import exceptions as known

    wrong = known.ModelAuthenticationError | known.ModelNotFoundError | known.UserError
    return isinstance(error, wrong | NoSuchModel)
