"""Each version of a metric by itself, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.estimates import Shares
from deniable_aggregator.cli.render.output import UNBROKEN
from deniable_aggregator.cli.render.rounding import between, number_with_ends
from deniable_aggregator.cli.render.share_table import estimate_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from deniable_aggregator.answers.estimates import Estimate, VersionEstimate

SHORT: Final = 12
"""So many letters of a version's id are shown."""

_MEDIAN: Final = 0.5


def version_tables(answer: Estimate, width: int = UNBROKEN) -> Iterator[Table | str]:
    """For each version its id, days and reports, then a table of shares or a line of numbers.

    Args:
        answer: with or without versions by themselves.
        width: of the terminal, in characters.
    """
    versions = {each.version: each for each in answer.versions}
    for own in answer.per_version or ():
        line = (
            f"Version {own.version[:SHORT]}, {own.first_day} to {own.last_day}, "
            f"{own.reports:,} reports"
        )
        if isinstance(answer, Shares):
            yield f"{line}:"
            alone = replace(
                answer,
                reports=own.reports,
                versions=[versions[own.version]],
                estimates=own.estimates or [],
                postprocess=UNSET,
                rest=UNSET,
            )
            yield estimate_table(alone, width=width)
        else:
            yield f"{line}: {', '.join(_numbers(own))}"


def _numbers(own: VersionEstimate) -> Iterator[str]:
    if own.mean:
        yield f"mean {between(own.mean)}"
    for each in own.quantiles or ():
        if each.quantile == _MEDIAN and each.estimate is not None:
            yield f"median {number_with_ends(each.estimate, each.low, each.high)}"
