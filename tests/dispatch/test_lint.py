"""Keep two traps of the queue's library out of our code.

A bare ``task.defer()`` inside a worker is not part of the caller's transaction: the job survives
its rollback. ``queueing_lock`` aborts the transaction it meets and, with a retry, wedges a job for
ever.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

PROJECT = Path(__file__).resolve().parents[2]
OURS = sorted(
    file
    for folder in ("agents", "asks", "workspace", "bench", "scripts")
    for file in (PROJECT / folder).rglob("*.py")
    if "migrations" not in file.parts
)
DEFERS = {"defer", "defer_async", "batch_defer", "batch_defer_async", "defer_periodic_job"}


def traps(source: str) -> Iterator[str]:
    """Find both traps in a piece of code, with line numbers."""
    tree = ast.parse(source)
    allowed = {id(node) for node in ast.walk(tree) if _is_transactional(node)}
    for node in ast.walk(tree):
        if _defers(node) and id(node) not in allowed:
            yield f"line {node.lineno}: a job outside the transaction"
        if isinstance(node, ast.keyword) and node.arg == "queueing_lock":
            yield f"line {node.value.lineno}: queueing_lock"
        if isinstance(node, ast.Constant) and node.value == "queueing_lock":
            yield f"line {node.lineno}: queueing_lock"


def _defers(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """``wakes.defer_wake`` is our own and means something else."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in DEFERS
        and ast.unparse(node.value) != "wakes"
    )


def _is_transactional(node: ast.AST) -> bool:
    """``configure_task(…, job_manager=JobManager(DjangoConnector()), …).defer``."""
    if not (isinstance(node, ast.Attribute) and node.attr == "defer"):
        return False
    call = node.value
    return isinstance(call, ast.Call) and any(
        keyword.arg == "job_manager"
        and ast.unparse(keyword.value) == "JobManager(DjangoConnector())"
        for keyword in call.keywords
    )


def test_jobs_are_enqueued_in_the_callers_transaction() -> None:
    found = {str(file.relative_to(PROJECT)): list(traps(file.read_text())) for file in OURS}
    assert len(found) > 50
    assert {file: what for file, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "code",
    [
        "dispatch.defer(run_id=1)",
        "await dispatch.defer_async(run_id=1)",
        "dispatch.configure(lock='x').defer(run_id=1)",
        "later = dispatch.defer",
        "tasks.configure_task(name='x', job_manager=app.job_manager).defer()",
        "dispatch.configure(queueing_lock='x')",
        "@app.task(queueing_lock='x')\ndef task(): ...",
        "dispatch.configure(**{'queueing_lock': 'x'})",
    ],
)
def test_the_traps_are_seen(code: str) -> None:
    assert list(traps(code))


def test_the_one_way_is_let_through() -> None:
    code = "configure_task(name='x', job_manager=JobManager(DjangoConnector())).defer(run_id=1)"
    assert list(traps(code)) == []
