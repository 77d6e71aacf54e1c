"""Figures: our samples, the samples of a yardstick, and the ratio of their medians."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A measurement. ``target`` is the highest acceptable ratio of medians, if any.

    Without a yardstick, ``target`` is the highest acceptable median.
    """

    name: str
    ours: list[float]
    yardstick: list[float] = field(default_factory=list)
    unit: str = "ms"
    target: float | None = None
    note: str = ""

    @property
    def middle(self) -> float:
        return median(self.ours)

    @property
    def yardstick_middle(self) -> float | None:
        return median(self.yardstick) if self.yardstick else None

    @property
    def ratio(self) -> float | None:
        other = self.yardstick_middle
        return self.middle / other if other else None

    @property
    def reached(self) -> bool | None:
        if self.target is None:
            return None
        measured = self.ratio if self.yardstick else self.middle
        return measured is not None and measured <= self.target

    def as_row(self) -> list[str]:
        other = self.yardstick_middle
        return [
            self.name,
            f"{self.middle:.2f} {self.unit}",
            "" if other is None else f"{other:.2f} {self.unit}",
            "" if self.ratio is None else f"{self.ratio:.2f}",
            "" if self.target is None else f"{self.target:g}",
            {True: "reached", False: "missed", None: ""}[self.reached],
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": self.ours,
            "yardstick": self.yardstick,
            "median": self.middle,
            "yardstick_median": self.yardstick_middle,
            "ratio": self.ratio,
            "target": self.target,
            "reached": self.reached,
            "note": self.note,
        }
