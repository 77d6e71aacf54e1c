"""Check the JSON Schema of an operation's params, and validate params against it.

A schema comes from an agent, so it may do no more than reject values. No ``$ref`` is fetched.
Patterns run on an engine whose time is linear in the length of the text. The number and the depth of
references are limited. Python's recursion limit is not enough: if it is reached inside the Rust code
of ``referencing``, the panic is not an ``Exception``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from pydantic_core import SchemaError as PatternError
from pydantic_core import SchemaValidator, core_schema
from pydantic_core import ValidationError as NoMatch
from referencing import Registry

from agents.text.canonical_json import Json
from asks.actions import binding, formats

MAX_BYTES = 32 * 1024
MOST_REFERENCES = 2_000
#: Nested keywords: three for each level that params may have (``binding.MAX_DEPTH``).
DEEPEST = 100
MOST_FLAWS = 20
#: Unsupported keywords. The first runs patterns on an engine with exponential worst-case time.
UNSUPPORTED = frozenset(
    {"patternProperties", "$dynamicRef", "unevaluatedProperties", "unevaluatedItems"}
)
#: Stored with a gate in place of an unusable schema. No params fit it.
UNUSABLE = False
_Check = Callable[[Json, Json, Json, Json], Iterable[ValidationError] | None]
_KEYWORDS: dict[str, _Check] = dict(Draft202012Validator.VALIDATORS)
_extend: Callable[..., Json] = extend


@dataclass(frozen=True)
class Flaw:
    """An error of a value. ``path`` is like ``to.address[0]``, or empty for the whole."""

    path: str
    why: str


class _TooMuch(Exception):
    """Too many references, or nested too deep."""


def usable_schema(schema: Json) -> Json:
    """Return the schema to store with a gate: None without one, ``UNUSABLE`` for an invalid one."""
    if schema is None:
        return None
    try:
        if not isinstance(schema, dict) or len(binding.canonical_action_json(schema)) > MAX_BYTES:
            return UNUSABLE
        Draft202012Validator.check_schema(schema)
    except (SchemaError, binding.Unhashable, RecursionError):
        return UNUSABLE
    return UNUSABLE if UNSUPPORTED & set(_keys(schema)) else _without_dialect(schema)


def find_flaws(schema: Json, params: Json, *, with_formats: bool = True) -> list[Flaw]:
    """Return the errors of params under a usable schema, at most ``MOST_FLAWS``."""
    try:
        checker = _checker(schema, formats.CHECKER if with_formats else None)
        errors = islice(checker.iter_errors(params), MOST_FLAWS)
        return [_in_words(error) for error in errors]
    except Exception:  # noqa: BLE001 -- a reference may point at anything; reject the params
        return [Flaw("", _("The tool's schema cannot be evaluated, so this cannot be validated."))]


def _keys(part: Json) -> Iterator[str]:
    if isinstance(part, dict):
        yield from part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _keys(inner)


def _without_dialect(part: Json) -> Json:
    """Return a schema without ``$schema``, with which a part could select another validator."""
    if isinstance(part, dict):
        named = part.get("$schema")
        return {
            key: _without_dialect(inner)
            for key, inner in part.items()
            if key != "$schema" or not isinstance(named, str)
        }
    return [_without_dialect(inner) for inner in part] if isinstance(part, list) else part


def _checker(schema: Json, format_checker: FormatChecker | None) -> Json:
    references = count(1)
    depth = 0

    def follow(*what: Json) -> Iterable[ValidationError] | None:
        if next(references) > MOST_REFERENCES:
            raise _TooMuch
        return _KEYWORDS["$ref"](*what)

    def bounded(check: _Check) -> _Check:
        def check_inside(*what: Json) -> Iterator[ValidationError]:
            nonlocal depth
            if depth >= DEEPEST:
                raise _TooMuch
            depth += 1
            try:
                yield from check(*what) or ()
            finally:
                depth -= 1

        return check_inside

    checks = {**_KEYWORDS, "$ref": follow, "pattern": _pattern}
    checker = _extend(Draft202012Validator, {name: bounded(one) for name, one in checks.items()})
    return checker(schema, registry=Registry(), format_checker=format_checker)


def _pattern(
    _validator: Json, pattern: str, value: Json, _schema: Json
) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern)).validate_python(value)
    except NoMatch:
        yield ValidationError(
            _("It must match the pattern {pattern}.").format(pattern=pattern[:200])
        )
    except PatternError:
        yield ValidationError(_("The tool's pattern for this value cannot be checked."))


#: The error sentence of each keyword.
_SENTENCES = {
    "type": gettext_noop("It must be {}."),
    "minimum": gettext_noop("It must be at least {}."),
    "maximum": gettext_noop("It must be at most {}."),
    "exclusiveMinimum": gettext_noop("It must be more than {}."),
    "exclusiveMaximum": gettext_noop("It must be less than {}."),
    "multipleOf": gettext_noop("It must be a multiple of {}."),
    "minLength": gettext_noop("It must have at least {} characters."),
    "maxLength": gettext_noop("It must have at most {} characters."),
    "minItems": gettext_noop("It must have at least {} items."),
    "maxItems": gettext_noop("It must have at most {} items."),
    "enum": gettext_noop("It must be one of {}."),
    "const": gettext_noop("It must be {}."),
}
_TYPES = {
    "string": gettext_noop("text"),
    "number": gettext_noop("a number"),
    "integer": gettext_noop("a whole number"),
    "boolean": gettext_noop("true or false"),
    "null": gettext_noop("null"),
    "array": gettext_noop("a list"),
    "object": gettext_noop("an object"),
}


def _in_words(error: ValidationError) -> Flaw:
    keyword = str(error.validator)
    expected: Json = error.validator_value
    value: Json = error.instance
    path = path_of(error.absolute_path)
    if keyword == "required":
        missing = next((name for name in expected if name not in value), "")
        return Flaw(join_path(path, missing), _("It is missing."))
    if keyword == "additionalProperties":
        known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        extra = next((name for name in value if name not in known), "")
        return Flaw(join_path(path, extra), _("The tool does not accept this value."))
    if keyword in _SENTENCES:
        return Flaw(path, _(_SENTENCES[keyword]).format(_expectation(keyword, expected))[:300])
    if keyword == "format" and expected in formats.SENTENCES:
        return Flaw(path, _(formats.SENTENCES[expected]))
    own = keyword == "pattern"
    return Flaw(path, error.message[:300] if own else _("It does not fit the tool's schema."))


def _expectation(keyword: str, expected: Json) -> str:
    if keyword == "type":
        names = expected if isinstance(expected, list) else [expected]
        return _(" or ").join(_(_TYPES.get(name, str(name))) for name in names)
    if keyword == "enum":
        return ", ".join(json.dumps(one, ensure_ascii=False) for one in expected)
    return json.dumps(expected, ensure_ascii=False)


def path_of(places: Iterable[str | int]) -> str:
    """Return a path in JSON as text, such as ``to.address[0]``."""
    path = ""
    for place in places:
        path = f"{path}[{place}]" if isinstance(place, int) else join_path(path, place)
    return path


def join_path(path: str, name: str) -> str:
    """Return the path of a property of the object at ``path``."""
    return f"{path}.{name}" if path else name
