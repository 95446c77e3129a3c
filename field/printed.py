"""Reading what the command line prints: the numbers of its tables, as a person reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from field.asking import Reader
from field.findings import Check, Interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.asking import Answer

ROUNDING: Final = 0.00005 + 1e-9
"""Half of the last printed digit of a percentage."""

_ROW: Final = re.compile(
    r"^[│┃|\s]*(?P<value>\S.*?)[│┃|\s]+(?P<share>-?\d+\.\d+)% "
    r"(?:± (?P<half>\d+\.\d+)%|-(?P<below>-?\d+\.\d+)% \+(?P<above>-?\d+\.\d+)%)"
)


def printed_shares(line: str) -> Reader:
    """The interval of every share of a printed table."""

    def read(answer: Answer, line: str) -> Iterator[Interval | Check]:
        rows = [match for text in answer.printed.splitlines() if (match := _ROW.match(text))]
        if not rows:
            yield Check(line, False, f"{answer.metric}: no shares in the printed table")
        for match in rows:
            value = match["value"].strip()
            if value.endswith(":"):
                continue  # a line below the table, about segments or combined values
            estimate = float(match["share"]) / 100
            below = float(match["half"] or match["below"]) / 100 + ROUNDING
            above = float(match["half"] or match["above"]) / 100 + ROUNDING
            truth = answer.truth.share(answer.metric, [value], answer.selection)
            yield Interval(
                line, f"{answer.metric}/{answer.selection.days}", f"{answer.metric} {value}",
                truth, estimate, estimate - below, estimate + above,
            )  # fmt: skip

    return Reader(line, read)
