"""`make chaos`: break Needs You while it works, and look whether anything was lost.

A scenario is a file tests/chaos/test_*.py; pytest runs them, one after the other.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run every scenario; pytest's exit code."""
    scenarios = sorted(HERE.glob("test_*.py"))
    if not scenarios:
        print("chaos: 0 scenarios yet, so nothing was broken and nothing is shown to survive.")
        return 0
    return subprocess.call([sys.executable, "-m", "pytest", "-p", "no:randomly", str(HERE)])


if __name__ == "__main__":
    sys.exit(main())
