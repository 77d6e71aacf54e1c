"""Run the measurements, print them, and write bench.json.

python -m bench.run [--runs N] [NAME …]
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from pathlib import Path

from bench.figures import Figure
from bench.world import server

MODULES = ("answering", "resume", "live", "pages", "parked", "leaf", "responses", "eve", "policies")
HEADINGS = ["figure", "ours", "yardstick", "ratio", "target", ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="the number of samples of each figure")
    parser.add_argument("names", nargs="*", default=MODULES, help="the measurements to run (all)")
    options = parser.parse_args()
    figures: list[Figure] = []
    with server() as postgres:
        for name in options.names:
            print(f"… {name}", file=sys.stderr, flush=True)
            with postgres.fresh_database():
                figures += importlib.import_module(f"bench.{name}").measure(options.runs)
    print_table(figures)
    Path("bench.json").write_text(json.dumps(as_json(figures, options.runs), indent=2) + "\n")
    return 0


def print_table(figures: list[Figure]) -> None:
    rows = [HEADINGS, *(figure.as_row() for figure in figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def as_json(figures: list[Figure], runs: int) -> dict[str, object]:
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "system": platform.system(),
        "runs": runs,
        "figures": [figure.as_json() for figure in figures],
    }


if __name__ == "__main__":
    raise SystemExit(main())
