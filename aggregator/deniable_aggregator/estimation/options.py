"""How a question is to be answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from deniable_aggregator.estimation.combination import ABOUT, About
from deniable_aggregator.estimation.postprocess import POSTPROCESS, Postprocess
from deniable_aggregator.statistics.intervals import (
    CORRECTIONS,
    DEFAULT_LEVEL,
    INTERVALS,
    Correction,
    IntervalKind,
)
from deniable_shared.errors import ParameterError


@dataclass(frozen=True)
class EstimateOptions:
    """How a question is to be answered.

    Attributes:
        top: only so many items, those with the largest estimates; None for all.
        detected: only items that are detected.
        about: whether errors and intervals are about the devices that reported, or about the
            population that they are a random sample of.
        interval: what the intervals cover, see `intervals.alpha_of`. None for "selected" where
            items are chosen by their estimates (`top`, `detected`), and "item" elsewhere.
        correction: of detection for the number of items, see `intervals.detect`.
        postprocess: what is added beside the raw shares, see `postprocess`. None for Norm-Sub
            where a category's whole domain is shown or a sum is asked for, and nothing elsewhere.
        level: of the intervals, in (0, 1).
    """

    top: int | None = None
    detected: bool = False
    about: About = "devices"
    interval: IntervalKind | None = None
    correction: Correction = "bh"
    postprocess: Postprocess | None = None
    level: float = DEFAULT_LEVEL

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
            ("about", self.about, ABOUT),
            ("interval", INTERVALS[0] if self.interval is None else self.interval, INTERVALS),
            ("correction", self.correction, CORRECTIONS),
            ("postprocess", "none" if self.postprocess is None else self.postprocess, POSTPROCESS),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                raise ParameterError(name, f"one of {', '.join(allowed)}", value)
        if self.top is not None and not self.top >= 1:
            raise ParameterError("top", "at least 1", self.top)


class ItemSelection(NamedTuple):
    """What a question is about.

    Attributes:
        candidates: the items, or None for all of a known domain or those of the sum.
        sum: the items whose share together is asked for, or None.
        range: the first and the last of them instead, or None.
    """

    candidates: list[str] | None = None
    sum: list[str] | None = None
    range: list[str] | None = None
