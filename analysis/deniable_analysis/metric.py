"""One metric, and the questions that can be asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.asking.questions import METRIC, Source
from deniable_analysis.display import paragraph
from deniable_analysis.methods import MetricQuestions
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from deniable_aggregator.answers.metrics import MetricDetails


class Metric(MetricQuestions):
    """A registered metric; made by ``project["name"]``.

    All questions raise `AskingError` if there is no answer, and `ParameterError` if an argument is
    not what it must be. A day is a date or a text such as 2026-01-31, yesterday or -7d; `days` is
    both ends, such as "2026-01-01/2026-01-31" or "-7d/".

    Args:
        source: answers the questions.
        name: of the metric.
        description: what it is for.
        today: the day that relative days count from.

    Attributes:
        name: of the metric.
        description: what it is for.
    """

    def __init__(
        self, source: Source, name: str, description: str, today: Callable[[], date]
    ) -> None:
        self._source = source
        self._place = (name,)
        self._clock = today
        self.name = name
        self.description = description

    def __repr__(self) -> str:
        return visible(f"Metric({self.name!r}: {self.description or 'no description'})")

    def _repr_html_(self) -> str:
        about = self.description or "This metric has no description."
        return paragraph(f"{self.name}: {about}")

    def _today(self) -> date:
        return self._clock()

    def details(self) -> MetricDetails:
        """What its versions ask of devices, and what each report reveals."""
        return self._source.ask(METRIC.of(self.name))
