"""What the tests of answering share."""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Run
from tests.responses.world import (
    Refused,
)
from workspace.protocols.responses.models import Response

ECHO = """
if '# The answer' in prompt:
    print(prompt.partition('# The answer')[2].strip())
else:
"""


def refused(call: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


def nothing_was_dispatched(before: int) -> bool:
    return Response.objects.count() == before and not Run.objects.filter(status="queued").exists()
