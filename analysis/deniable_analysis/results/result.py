"""What all results have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from deniable_aggregator.sentences import basis, cautions, closeness_in_words, finding, sentence
from deniable_analysis.display import notebook
from deniable_analysis.display.rows import cells_of
from deniable_analysis.frames import frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from deniable_aggregator.answers.common import Notice
    from deniable_aggregator.answers.discoveries import FoundStrings
    from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
    from deniable_aggregator.answers.integrity import Health
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.answers.trends import Change, Series
    from deniable_analysis.frames import Backend

    AnyAnswer = (
        Shares | SegmentShares | Mean | Distribution | Series | Change | FoundStrings | Health
    )
    Answer = TypeVar("Answer", bound=AnyAnswer, covariant=True)
else:
    Answer = TypeVar("Answer", covariant=True)

MOST_SHOWN = 30
"""Rows in a notebook; the frame has all."""


@dataclass(frozen=True, repr=False)
class Result(Generic[Answer]):
    """An answer, and the ways to look at it.

    Attributes:
        answer: as the server gave it, with all of its numbers and notes.
    """

    answer: Answer

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self.answer.metric

    @property
    def notices(self) -> list[Notice]:
        """What to know before the numbers, warnings first."""
        return self.answer.notices

    @property
    def warnings(self) -> list[str]:
        """The warnings among them, and those about days that are missing or not over."""
        return cautions(self.answer)

    @property
    def sentence(self) -> str:
        """The answer in a few sentences, warnings first."""
        return sentence(self.answer)

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
        from deniable_aggregator.answers.row import COLUMNS, Row

        return frame(Row, self.rows(), backend, COLUMNS, whole=whole)

    def __repr__(self) -> str:
        return notebook.plain(f"{type(self).__name__} of {self.metric}. {self.sentence}")

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

    def _picture(self) -> str:
        """The figure of the answer, in the colours of the page."""
        from deniable_aggregator.media.pictures.svg import svg
        from deniable_aggregator.telling.figures import figure_of

        # The warnings stand above it.
        return svg(replace(figure_of(self.answer), warnings=()), theme="page")

    def _table(self) -> str:
        """The first rows of the long table, rounded to their intervals."""
        rows = self.rows()
        head, cells, texts = cells_of(rows[:MOST_SHOWN])
        more = len(rows) - MOST_SHOWN
        below = notebook.paragraph(f"{more:,} more rows: see .frame().") if more > 0 else ""
        return notebook.table(head, cells, self.metric, texts) + below

    def _repr_html_(self) -> str:
        return "".join(
            (
                notebook.warnings_box(self.warnings),
                notebook.paragraph(finding(self.answer)),
                *map(notebook.paragraph, filter(None, [closeness_in_words(self.answer)])),
                self._picture(),
                self._table(),
                notebook.paragraph(basis(self.answer)),
            )
        )
