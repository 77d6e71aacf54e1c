"""docs/outside.md names every address, kind, reason, scope and setting."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from asks.lifecycle import HTTP_STATUS, Reason
from workspace import settings
from workspace.api.operations import OPERATIONS
from workspace.api.problems import MalReason
from workspace.models import OutboxKind, Scope

TEXT = (Path(__file__).parents[2] / "docs" / "outside.md").read_text()


def test_each_operation_is_in_the_manual() -> None:
    wanted = [f"`{operation.method} /api/{operation.path}`" for operation in OPERATIONS]
    assert [words for words in wanted if words not in TEXT] == []


def test_each_reason_is_in_the_manual_with_its_status() -> None:
    statuses = {reason: HTTP_STATUS[reason] for reason in Reason if reason != Reason.UNPROVEN}
    missing = [f"{s} | `{r}`" for r, s in statuses.items() if f"| {s} | `{r}` |" not in TEXT]
    assert missing == []
    assert [reason for reason in get_args(MalReason) if f"`{reason}`" not in TEXT] == []


def test_each_kind_and_scope_is_in_the_manual() -> None:
    assert [word for word in (*OutboxKind.values, *Scope.values) if f"`{word}`" not in TEXT] == []


def test_each_setting_is_in_the_manual() -> None:
    names = [name for name in dir(settings) if name.startswith(("NEEDS_YOU_EVENT", "WEBHOOKS_"))]
    assert len(names) == 4
    assert [name for name in names if name not in TEXT] == []
