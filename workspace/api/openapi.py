"""Build the OpenAPI 3.1 document from the operations and their shapes."""

from __future__ import annotations

import functools
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from workspace.api import problems, shapes
from workspace.api.door import Operation
from workspace.api.operations import OPERATIONS
from workspace.protocols.common.http import MAX_BODY

REFS = "#/components/schemas/{model}"
Json = dict[str, Any]


@functools.cache
def openapi_document() -> Json:
    """Return the whole document. It is built once and is the same for every caller."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        path = f"/api/{operation.path}"
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Needs You",
            "version": "1",
            "description": (
                "Asks that wait for a person, and the sessions behind them. Refusals are "
                "application/problem+json; `reason` is stable. The key identifies the caller."
            ),
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A key made with `manage.py key create`.",
                }
            },
            "schemas": _schemas(),
        },
    }


def _operation(operation: Operation) -> Json:
    described: Json = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Requires the scope {' or '.join(operation.scopes)}.",
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {str(status): _response(operation, status) for status in operation.statuses},
    }
    if operation.body is not None:
        described["requestBody"] = {
            "description": f"At most {MAX_BODY} bytes. An empty body counts as {{}}.",
            "content": {"application/json": {"schema": _ref(operation.body)}},
        }
    return described


def _path_parameters(operation: Operation) -> list[Json]:
    names = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    whole, word = {"type": "integer", "minimum": 0}, {"type": "string"}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": word if name == "slug" else whole,
        }
        for name in names
    ]


def _query_parameters(operation: Operation) -> list[Json]:
    schema = operation.query.model_json_schema(ref_template=REFS)
    return [
        {"name": name, "in": "query", "required": False, "schema": inner}
        for name, inner in schema.get("properties", {}).items()
    ]


def _response(operation: Operation, status: int) -> Json:
    shape: type[BaseModel] = operation.answer if status == 200 else problems.Problem
    media = "application/json" if status == 200 else problems.MEDIA_TYPE
    return {
        "description": HTTPStatus(status).phrase,
        "content": {media: {"schema": _ref(shape)}},
    }


def _ref(shape: type[BaseModel]) -> Json:
    return {"$ref": REFS.format(model=shapes.published_name(shape))}


def _schemas() -> Json:
    """Return every shape by its name: requests in validation mode, answers in serialization mode."""
    requests: list[type[BaseModel]] = [op.body for op in OPERATIONS if op.body is not None]
    requests += [op.query for op in OPERATIONS]
    answers: list[type[BaseModel]] = [op.answer for op in OPERATIONS]
    schemas: Json = {}
    for models, mode in ((requests, "validation"), ([*answers, problems.Problem], "serialization")):
        unique = dict.fromkeys(models)
        inputs: Any = [(model, mode) for model in unique]
        _, made = models_json_schema(inputs, ref_template=REFS, schema_generator=_PublishedNames)
        schemas.update(made["$defs"])
    return {name: schema for name, schema in sorted(schemas.items()) if name not in _QUERIES}


class _PublishedNames(GenerateJsonSchema):
    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Shape")


_QUERIES = {model.__name__ for model in (shapes.AskQuery, shapes.EventQuery, shapes.NoQuery)}
