"""What a question gives: an answer with its sentence, warnings, numbers, frame and picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from deniable_aggregator.telling.findings import sentence
from deniable_aggregator.telling.tell import tell
from deniable_analysis import display
from deniable_analysis.frames import Backend, frame
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl

    from deniable_aggregator.answers.answer import Answer, Period
    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.measured import Measure, Measured, SegmentCloseness
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.answers.words import Verdict
    from deniable_aggregator.telling.document import Document

MOST_SHOWN = 30
"""Rows of a table in a notebook; the frame has all."""

_OF_VALUES: Final[tuple[Measure, ...]] = ("share", "difference in share")


@dataclass(frozen=True, repr=False)
class Result:
    """An answer about a metric, and the ways to look at it.

    A sequence of its numbers: ``for number in result``; ``result["dark"]`` is the number of a
    value.

    Attributes:
        answer: as the server gave it, with all of its numbers, checks and notices.
    """

    answer: Answer

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.answer.head.metric

    @property
    def notices(self) -> list[Notice]:
        """What to know before the numbers, warnings first."""
        return self.answer.notices

    @property
    def warnings(self) -> Sequence[str]:
        """The warnings among them, and those about days that are missing or not over."""
        return self.document.cautions

    @property
    def sentence(self) -> str:
        """The answer in a few sentences, warnings first."""
        return sentence(self.answer)

    @property
    def document(self) -> Document:
        """All that is said of the answer: its sentences and tables, as every surface has them."""
        return tell(self.answer)

    def __iter__(self) -> Iterator[Measured]:
        return iter(self.answer.numbers)

    def __len__(self) -> int:
        return len(self.answer.numbers)

    def __getitem__(self, value: str) -> Measured:
        """The share of a value, or its difference; of a series, that of the last period.

        Raises:
            ParameterError: if the answer does not have it.
        """
        numbers = [each for each in self.answer.numbers if each.value == value]
        if not numbers:
            raise not_among(value, self.values)
        return max(numbers, key=lambda each: (each.version is None, each.period))

    def _ipython_key_completions_(self) -> list[str]:
        return self.values

    @property
    def values(self) -> list[str]:
        """The values, in the order of the answer."""
        numbers = self.answer.of(*_OF_VALUES)
        return list(dict.fromkeys(each.value for each in numbers if each.value is not None))

    @property
    def mean(self) -> Measured | None:
        """The mean of a number or a distribution; None of any other metric."""
        return self.answer.one("mean")

    @property
    def quantiles(self) -> list[Measured]:
        """The quantiles of a distribution, or their differences."""
        return self.answer.of("quantile", "difference in quantile")

    @property
    def bins(self) -> list[Measured]:
        """The histogram of a distribution."""
        return self.answer.of("bin")

    @property
    def periods(self) -> list[tuple[Period, list[Measured]]]:
        """Each period with its numbers: many of a series, two of a change, else one."""
        return list(self.answer.periods())

    @property
    def clear(self) -> list[Measured]:
        """What is told from zero; of a change, the clear changes."""
        return [each for each in self.answer.numbers if each.told]

    @property
    def prefixes(self) -> list[Measured]:
        """First letters of strings that are longer than can be found."""
        return self.answer.prefixes

    @property
    def closeness(self) -> SegmentCloseness | None:
        """How far a segment is from all devices; None of an answer without one."""
        return self.answer.head.closeness

    @property
    def verdict(self) -> Verdict:
        """Whether the reports look like those of devices."""
        return self.answer.head.verdict

    def rows(self) -> list[Row]:
        """The numbers of the answer, as rows of the long table."""
        from deniable_aggregator.media.rows import rows_of

        return list(rows_of(self.answer))

    @overload
    def frame(self, backend: None = None, *, whole: bool = False) -> Any: ...
    @overload
    def frame(self, backend: Literal["pandas"], *, whole: bool = False) -> pd.DataFrame: ...
    @overload
    def frame(self, backend: Literal["polars"], *, whole: bool = False) -> pl.DataFrame: ...
    @overload
    def frame(self, backend: Literal["pyarrow"], *, whole: bool = False) -> Any: ...
    def frame(self, backend: Backend | None = None, *, whole: bool = False) -> Any:
        """The numbers as a data frame: one row for each, with its interval. Shares are fractions.

        Args:
            backend: "pandas", "polars" or "pyarrow"; left out for the first that is installed.
            whole: all columns of the long table, those too in which nothing stands here: for
                putting frames of several answers below each other.

        Raises:
            MissingExtraError: if the library is not installed.
        """
        from deniable_aggregator.answers.columns import COLUMNS
        from deniable_aggregator.answers.row import Row

        return frame(Row, self.rows(), backend, COLUMNS, whole=whole)

    def save(self, path: str | Path) -> None:
        """Writes the picture into a file.

        Args:
            path: ends in .svg, .html or .png, which needs ``deniable[charts]``.

        Raises:
            ParameterError: if the name ends in anything else.
            MissingExtraError: if what draws a .png is not installed.
            OSError: if the file cannot be written.
        """
        from deniable_aggregator.media.pictures.files import save
        from deniable_aggregator.telling.figures import figure_of

        save(figure_of(self.answer), Path(path))

    def __repr__(self) -> str:
        return visible(f"{type(self).__name__} of {self.metric}. {self.sentence}")

    def _repr_html_(self) -> str:
        document = self.document
        return "".join(
            (
                display.warnings_box(document.cautions),
                display.paragraph(document.finding),
                *map(display.paragraph, document.asides),
                self._picture(),
                *(display.table(each, MOST_SHOWN) for each in document.tables),
                *map(display.paragraph, document.below),
                display.paragraph(document.basis),
            )
        )

    def _picture(self) -> str:
        """The figure of the answer, in the colours of the page; the warnings stand above it."""
        from dataclasses import replace

        from deniable_aggregator.media.pictures.svg import svg
        from deniable_aggregator.telling.figures import figure_of

        return svg(replace(figure_of(self.answer), warnings=()), theme="page")


def not_among(value: str, values: Sequence[str]) -> ParameterError:
    """The error of a value that an answer does not have.

    Args:
        value: what was typed.
        values: those that it has.
    """
    near = nearest(value, values) if isinstance(value, str) else None
    meant = "" if near is None else f" (did you mean {visible(near)!r}?)"
    return ParameterError("value", f"one of those in the answer{meant}", value)
