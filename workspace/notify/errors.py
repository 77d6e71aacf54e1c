from __future__ import annotations


class Undelivered(Exception):
    """A sink did not accept an item; the message says why.

    ``for_good``: do not retry. ``gone``: the sink wants no more items at all.
    """

    def __init__(self, why: str, *, for_good: bool = False, gone: bool = False) -> None:
        super().__init__(why)
        self.for_good, self.gone = for_good or gone, gone
