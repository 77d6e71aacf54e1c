"""How often somebody may try something that fails. Each web process counts for itself."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

#: Of so many at once are the tries remembered; who tried longest ago is forgotten first.
MOST_REMEMBERED = 10_000


class Tries:
    """At most ``most`` tries within ``seconds`` each."""

    def __init__(
        self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._of: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, who: Hashable) -> float:
        """0 if this try may be made, and then it counts; else the seconds until the next may."""
        with self._lock:
            now = self._clock()
            tries = self._of.setdefault(who, deque(maxlen=self._most))
            self._of.move_to_end(who)
            if len(tries) == self._most and now - tries[0] < self._seconds:
                return self._seconds - (now - tries[0])
            tries.append(now)
            while len(self._of) > MOST_REMEMBERED:
                self._of.popitem(last=False)
            return 0.0
