"""`make chaos`: break Needs You while it works, and look whether anything was lost.

The scenarios are the tests marked ``chaos``. They kill servers, workers and databases and wait for
them to come back, one after the other, so they have a command of their own.
"""

import subprocess
import sys


def main() -> int:
    """Run every scenario; pytest's exit code."""
    return subprocess.call([sys.executable, "-m", "pytest", "-m", "chaos", "-v"])


if __name__ == "__main__":
    sys.exit(main())
