"""The real client library against a server, and readers of its wire that are stricter than it is."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, get_args

import openai
from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_item import ResponseItem
from pydantic import TypeAdapter

Json = dict[str, Any]

_PARSER = argparse.ArgumentParser()
_PARSER.add_argument("--base-url", required=True)
_PARSER.add_argument("--api-key", required=True)
_PARSER.add_argument("--only", default="")
OPTIONS = _PARSER.parse_args()

_CONNECTION: Json = {"base_url": OPTIONS.base_url, "api_key": OPTIONS.api_key, "timeout": 60}
#: The library's types are wider than what is looked at here.
client: Any = OpenAI(**_CONNECTION)
async_client: Any = AsyncOpenAI(**_CONNECTION)

MODEL = "shell-1"
REQUEST = {"mode": "run", "target_date": "2026-10-16", "dry_run": False}
REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,50}\.[0-9a-f]{12}")
TERMINAL = {"response.completed", "response.failed", "response.incomplete"}
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseItem)
_EVENTS: dict[str, Any] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(ResponseStreamEvent)[0])
}

CHECKS: list[Callable[[], None]] = []


def check(body: Callable[[], None]) -> Callable[[], None]:
    """One thing that a server is held to."""
    CHECKS.append(body)
    return body


def strict_response(found: Json) -> None:
    """The library only constructs its models; this validates."""
    Response.model_validate(found)
    for item in found["output"]:
        if item["type"] == "function_call":
            assert isinstance(item["arguments"], str), "arguments are JSON as a text"
            json.loads(item["arguments"])
            assert item["id"]
            assert item["status"] in ("completed", "in_progress", "incomplete")
            assert 1 <= len(item["call_id"]) <= 64
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", item["name"])


def frames(lines: Iterable[str]) -> list[tuple[str, Json]]:
    """The events of a stream, insisting on the framing that every client relies on."""
    kind, found, over = "", [], False
    for raw in lines:
        line = raw.rstrip("\r\n")
        assert not over or not line, "something follows [DONE]"
        if line == "data: [DONE]":
            over = True
        elif line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            found.append((kind, json.loads(line[6:])))
        else:
            assert not line or line.startswith(":"), f"odd line {line[:80]!r}"
    assert over, "the stream does not end with [DONE]"
    return found


class StrictStream:
    """Follows a stream from its first event and holds it to the protocol's order."""

    def __init__(self) -> None:
        self.added: dict[int, Json] = {}
        self.done: set[int] = set()
        self.texts: dict[str, str] = {}
        self.terminal: Json | None = None

    def hear(self, kind: str, event: Json) -> None:
        assert kind == event["type"]
        assert self.terminal is None, "an event after the terminal one"
        if kind in _EVENTS:
            _EVENTS[kind].model_validate(event)
        if "response" in event:
            strict_response(event["response"])
        if kind in TERMINAL:
            self.terminal = event
        elif kind == "response.output_item.added":
            self._add(event)
        elif kind.endswith(".delta"):
            self.texts[event["item_id"]] = self.texts.get(event["item_id"], "") + event["delta"]
        elif kind in ("response.function_call_arguments.done", "response.output_text.done"):
            assert self.texts[event["item_id"]] == event.get("arguments", event.get("text"))
        elif kind == "response.output_item.done":
            assert self.added[event["output_index"]]["id"] == event["item"]["id"]
            assert event["item"].get("status", "completed") == "completed"
            self.done.add(event["output_index"])

    def _add(self, event: Json) -> None:
        assert event["output_index"] not in self.added
        assert event["item"].get("status", "in_progress") == "in_progress"
        if event["item"]["type"] == "function_call":
            assert event["item"]["arguments"] == ""
        self.added[event["output_index"]] = event["item"]


def strict_stream(events: list[tuple[str, Json]], expect: str = "") -> Json:
    """The response at the end of a whole stream."""
    numbers = [event["sequence_number"] for _, event in events]
    assert numbers == list(range(len(numbers))), f"sequence numbers {numbers}"
    first = events[0][1]
    assert first["type"] == "response.created"
    assert first["response"]["status"] in ("in_progress", "queued")
    stream = StrictStream()
    for kind, event in events:
        stream.hear(kind, event)
    assert stream.done == set(stream.added), "an item was begun and never finished"
    assert stream.terminal is not None, "no terminal event"
    assert expect in ("", stream.terminal["type"]), stream.terminal["type"]
    response: Json = stream.terminal["response"]
    ids = [stream.added[place]["id"] for place in sorted(stream.added)]
    assert [item["id"] for item in response["output"]] == ids
    return response


def raw_stream(**body: Any) -> list[tuple[str, Json]]:
    with client.responses.with_streaming_response.create(stream=True, **body) as sent:
        assert sent.headers["content-type"].startswith("text/event-stream")
        return frames(sent.iter_lines())


def replay(name: str, **query: Any) -> list[tuple[str, Json]]:
    streaming = client.responses.with_streaming_response
    with streaming.retrieve(name, stream=True, **query) as sent:
        return frames(sent.iter_lines())


def ask(scenario: str = "ask", **extra: Any) -> Json:
    return {"model": MODEL, "input": json.dumps({**REQUEST, "scenario": scenario, **extra})}


def asking(scenario: str = "ask", **extra: Any) -> Any:
    """The response to a request of that scenario."""
    return client.responses.create(**ask(scenario, **extra))


def answer(call_id: str, output: Any) -> list[Json]:
    return [{"type": "function_call_output", "call_id": call_id, "output": output}]


def answering(paused: Any, output: Any, **more: Any) -> Any:
    """The response to the answer to a paused one's question."""
    call_id = question(paused)[0].call_id
    return client.responses.create(
        model=MODEL, previous_response_id=paused.id, input=answer(call_id, output), **more
    )


def question(response: Any) -> tuple[Any, Json]:
    """The one question of a response, and its arguments."""
    found = [
        item
        for item in response.output
        if item.type == "function_call" and item.name == "request_info"
    ]
    assert len(found) == 1, [getattr(item, "name", item.type) for item in response.output]
    return found[0], json.loads(found[0].arguments)


def envelope(response: Any) -> Json:
    found: Json = response.model_extra.get("envelope") or {}
    return found


def refused(
    kind: type[openai.APIStatusError],
    call: Callable[[], Any],
    *,
    code: str | None = None,
    param: str | None = None,
) -> openai.APIStatusError:
    """What a call is refused with: of that class, worded as the protocol words errors."""
    error = _error_of(kind, call)
    assert isinstance(error.body, dict)
    assert {"message", "type", "param", "code"} <= set(error.body), error.body
    assert error.request_id, "x-request-id is missing"
    assert code in (None, error.code), error.code
    assert param in (None, error.param), error.param
    return error


def _error_of(kind: type[openai.APIStatusError], call: Callable[[], Any]) -> openai.APIStatusError:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("not refused")


def wait_for(name: str, *, seconds: float = 60) -> Any:
    """The response once it is not under way any more."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = client.responses.retrieve(name)
        if found.status not in ("queued", "in_progress"):
            return found
        time.sleep(0.05)
    raise AssertionError(f"still {found.status}")
