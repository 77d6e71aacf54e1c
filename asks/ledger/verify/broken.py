from __future__ import annotations


class BrokenLedger(Exception):
    """The first flaw in the ledger: where it is, such as ``session:12 3``, and why."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}")
        self.where, self.why = where, why
