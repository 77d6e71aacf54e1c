"""Look up models by name: those registered here, and all that pydantic-ai knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_known: dict[str, Callable[[], Model]] = {}


class NoSuchModel(Exception):
    """A model that cannot be used in this setup, with the reason."""


def register_model(name: str, make: Callable[[], Model]) -> None:
    """Register a model under a name. It takes precedence over pydantic-ai's."""
    _known[name] = make


def model_named(name: str) -> Model:
    """Return the model with this name. Raises NoSuchModel, which is permanent."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if name in _known:
        return _known[name]()
    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as error:
        raise NoSuchModel(f"The model “{name}” cannot be used: {error}") from error


def is_limit(error: Exception) -> bool:
    """Whether a vendor's rate limit or quota is exhausted, which is temporary."""
    from pydantic_ai import exceptions as known

    return isinstance(error, known.ModelRateLimitError | known.ModelQuotaExceededError)


def is_for_good(error: Exception) -> bool:
    """Whether the settings are wrong, so that a retry cannot help."""
    from pydantic_ai import exceptions as known

    wrong = known.ModelAuthenticationError | known.ModelNotFoundError | known.UserError
    return isinstance(error, wrong | NoSuchModel)
