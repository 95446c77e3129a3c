"""Tables of estimates beside the truth, which the aggregator never saw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deniable_aggregator.telling.document import Column, Table
from deniable_aggregator.telling.tables import numbers_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured


def covers(share: Measured, truth: float) -> bool:
    """Whether the interval of a share holds the true share."""
    low, high = share.ends
    return low <= truth <= high


def table_beside_truth(
    answer: Answer, shares: Sequence[Measured], truths: Sequence[float], left_out: str = ""
) -> Table:
    """A table of some shares of an answer, with the truth and whether the interval covers it.

    Args:
        answer: that they are of.
        shares: in their order.
        truths: the true share of each.
        left_out: what is said of others.
    """
    table = numbers_table(answer, "truth", shares, left_out=left_out)
    beside = [
        (f"{truth:.2%}" if truth else "nobody", "yes" if covers(share, truth) else "no")
        for share, truth in zip(shares, truths, strict=True)
    ]
    first, *others = table.columns
    return replace(
        table,
        columns=[first, Column(heading="truth"), *others, Column(heading="covers", words=True)],
        rows=[
            replace(row, cells=(row.cells[0], truth, *row.cells[1:], verdict), truth=share)
            for row, (truth, verdict), share in zip(table.rows, beside, truths, strict=True)
        ],
    )
