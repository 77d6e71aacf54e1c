"""Calls the API as a program does: with a key and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client


@dataclass
class Answer:
    """A response, with its JSON."""

    status: int
    headers: dict[str, str]
    body: bytes
    json: Any = field(init=False)

    def __post_init__(self) -> None:
        self.json = json.loads(self.body) if self.body else None


class Caller:
    """One program with one key, or none."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        # As for a real request: an API that needs no cookie must pass the check of forms.
        self.client = Client(enforce_csrf_checks=True)

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        raw = body if isinstance(body, bytes) else json.dumps(body if body is not None else {})
        sent = raw if isinstance(raw, bytes) else raw.encode()
        return self.send(
            "POST", path, sent, headers={"Content-Type": "application/json", **headers}
        )

    def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        kind = sent.pop("Content-Type", "")
        response = self.client.generic(method, path, body, content_type=kind, headers=sent)
        return Answer(response.status_code, dict(response.headers), response.content)
