"""Read the standard output of a brain, line by line, as steps, text and cost.

A line is plain text, or a JSON object of one of these types:

    {"type": "step", "name": "load_ledger", "arguments": {"rows": 3}}
    {"type": "text", "text": "Reconciled EU."}
    {"type": "cost", "usd": 0.12}                        what this part of the turn cost
    {"type": "result", "result": "…", "total_cost_usd": 0.40, "usage": {"input_tokens": 9, …}}

The output of ``claude --print --output-format stream-json`` is read too: its assistant messages
contain text and tool uses, and its result line has the shape above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agents.running.runtime import Ignored, Said, Step
from agents.text import json_input
from workspace.protocols.responses.wire import Json, compact_json

Heard = Said | Step | Ignored

#: Most characters of one line. A longer line is dropped and reported as ignored.
MAX_LINE = 1024 * 1024


class BrainOutput:
    """Read the output of one turn."""

    def __init__(self, call_prefix: str) -> None:
        self._prefix = call_prefix
        self._rest: list[str] = []
        self._length = 0
        self._steps = 0
        self._total = 0.0
        self._parts = 0.0
        self._has_cost = False
        self._words: list[str] = []
        self.usage: Json = {}

    @property
    def cost(self) -> float | None:
        """Return the cost in US dollars, or None if none was reported.

        A brain may report a total, parts, or both; the larger sum counts.
        """
        return max(self._total, self._parts) if self._has_cost else None

    @property
    def text(self) -> str:
        return "".join(self._words).strip()

    def hear(self, chunk: str) -> Iterator[Heard]:
        """Read a piece of output. Yield the events of the lines that it completes."""
        *ends, rest = chunk.split("\n")
        for end in ends:
            self._keep(end)
            yield from self._line()
        self._keep(rest)

    def end(self) -> Iterator[Heard]:
        """Yield the events of the last line, if the output ended without a newline."""
        if self._rest:
            yield from self._line()

    def _keep(self, part: str) -> None:
        self._length += len(part)
        if part and self._length <= MAX_LINE:
            self._rest.append(part)

    def _line(self) -> Iterator[Heard]:
        line, length = "".join(self._rest).removesuffix("\r"), self._length
        self._rest, self._length = [], 0
        if length > MAX_LINE:
            yield Ignored(line[:200], f"a line of more than {MAX_LINE} characters")
            return
        record = _object(line)
        reader = _READERS.get(str(record.get("type"))) if record else None
        if reader is None or record is None:
            yield self._said(f"{line}\n")
        else:
            yield from reader(self, record)

    def _said(self, text: str) -> Said:
        self._words.append(text)
        return Said(text)

    # One reader per type of line.

    def _step(self, record: Json) -> Iterator[Heard]:
        self._steps += 1
        arguments = record.get("arguments")
        detail = compact_json(arguments if isinstance(arguments, dict) else {})
        name = str(record.get("name") or "step")[:64]
        yield Step(f"{self._prefix}{self._steps}", name, detail=detail)

    def _text(self, record: Json) -> Iterator[Heard]:
        if isinstance(text := record.get("text"), str) and text:
            yield self._said(text)

    def _cost_part(self, record: Json) -> Iterator[Heard]:
        amount = _amount(record.get("usd"))
        if amount is None:
            yield Ignored(compact_json(record)[:200], "this is not an amount of US dollars")
            return
        self._has_cost, self._parts = True, self._parts + amount

    def _result(self, record: Json) -> Iterator[Heard]:
        if (amount := _amount(record.get("total_cost_usd"))) is not None:
            self._has_cost, self._total = True, max(self._total, amount)
        if isinstance(usage := record.get("usage"), dict):
            self.usage = {name: n for name, n in usage.items() if isinstance(n, int)}
        if not self.text and isinstance(result := record.get("result"), str) and result:
            yield self._said(result)

    def _assistant(self, record: Json) -> Iterator[Heard]:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "text":
                yield from self._text({"text": f"{part.get('text') or ''}\n"})
            elif isinstance(part, dict) and part.get("type") == "tool_use":
                yield from self._step({"name": part.get("name"), "arguments": part.get("input")})

    def _nothing(self, record: Json) -> Iterator[Heard]:
        """Skip a line that carries nothing to report."""
        del record
        return iter(())


_READERS: dict[str, Callable[[BrainOutput, Json], Iterator[Heard]]] = {
    "step": BrainOutput._step,  # noqa: SLF001
    "text": BrainOutput._text,  # noqa: SLF001
    "cost": BrainOutput._cost_part,  # noqa: SLF001
    "result": BrainOutput._result,  # noqa: SLF001
    "assistant": BrainOutput._assistant,  # noqa: SLF001
    "system": BrainOutput._nothing,  # noqa: SLF001
    "user": BrainOutput._nothing,  # noqa: SLF001
}


def _object(line: str) -> Json | None:
    if not line.startswith("{"):
        return None
    try:
        value = json_input.read_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _amount(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN and integers too large for a float fail this comparison.
    return float(value) if 0 <= value < 1e6 else None
