"""Runs every check with the `openai` that is installed here; its last line sums them up.

python -m tests.conformance.responses.drive --base-url http://127.0.0.1:8000/v1 --api-key KEY
"""

from __future__ import annotations

import sys

import openai

# The checks list themselves as they are imported.
from tests.conformance.responses import approving, keeping, pausing  # noqa: F401
from tests.conformance.responses.client import CHECKS, OPTIONS


def main() -> int:
    passed = failed = 0
    for check in CHECKS:
        if OPTIONS.only not in check.__name__:
            continue
        try:
            check()
        except Exception as error:  # noqa: BLE001  whatever it is, the other checks still run
            failed += 1
            print(f"FAIL {check.__name__}: {type(error).__name__}: {str(error)[:300]}")
        else:
            passed += 1
            print(f"ok   {check.__name__}")
    print(f"openai {openai.__version__} against {OPTIONS.base_url}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
