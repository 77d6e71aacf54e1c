from __future__ import annotations


class Undelivered(Exception):
    """A sink did not take an item; the message says why.

    ``for_good``: trying again is no use. ``gone``: the sink wants nothing more at all.
    """

    def __init__(self, why: str, *, for_good: bool = False, gone: bool = False) -> None:
        super().__init__(why)
        self.for_good, self.gone = for_good or gone, gone
