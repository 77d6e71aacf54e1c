"""The built-in tool ``ask_question``: its schema, and the check of its input before it is asked."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workspace.toolkit import BadInput

NAME = "ask_question"
DESCRIPTION = (
    "Ask your owner a question and wait for the answer. Offer options if there are any; "
    "with allowFreeform, or without options, the owner may answer in free text."
)


class Offered(BaseModel):
    """One answer to choose from. Without an id, the label is the id."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=4000)]
    description: str = ""
    style: Literal["primary", "danger", "default"] = "default"

    @property
    def key(self) -> str:
        return self.label[:100] if self.id is None else self.id


class EveQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    prompt: Annotated[str, Field(min_length=1, description="The question to put to the owner.")]
    options: list[Offered] = Field(default=[], description="Choices to offer, if there are any.")
    allow_freeform: bool = Field(
        default=False,
        alias="allowFreeform",
        description="Whether the owner may answer in free text instead of choosing.",
    )


def question_schema() -> dict[str, Any]:
    return {key: value for key, value in EveQuestion.model_json_schema().items() if key != "title"}


def check_question(given: object) -> dict[str, Any]:
    """Return a question as JSON, without unset fields. Raises BadInput, which names the field."""
    try:
        question = EveQuestion.model_validate_json(json.dumps(given))
    except (ValidationError, TypeError, ValueError, RecursionError) as error:
        raise BadInput(_in_words(error)) from error
    return question.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _in_words(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "The question is not valid JSON."
    return "; ".join(
        f"{'.'.join(str(part) for part in flaw['loc']) or 'input'}: {flaw['msg']}"
        for flaw in error.errors(include_url=False, include_input=False)[:10]
    )
