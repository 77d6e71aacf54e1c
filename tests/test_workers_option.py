"""The number of workers of `manage.py up`."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command


@pytest.mark.parametrize("number", ["0", "-1", "two", "65", "1.5", "٣"])
def test_a_number_of_workers_that_is_none_is_one_sentence(number: str) -> None:
    with pytest.raises(CommandError, match=r"--workers: '.+' is not a number from 1 to 64"):
        call_command("up", f"--workers={number}")


def test_so_does_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKER_PROCESSES", "none")
    with pytest.raises(CommandError, match=r"--workers: 'none' is not a number from 1 to 64"):
        call_command("up")
