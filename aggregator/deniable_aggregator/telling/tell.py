"""The document of an answer, whatever was asked: what is said of it, in the order of reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.telling.cautions import (
    basis,
    beside_title,
    cautions,
    counted_line,
    days_lines,
    notes,
    title,
)
from deniable_aggregator.telling.changes import unclear_changes, ways_of_change
from deniable_aggregator.telling.document import Document
from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.health import health_tables
from deniable_aggregator.telling.lines import asides, below
from deniable_aggregator.telling.meaning import meaning
from deniable_aggregator.telling.tables import Order, tables_of

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer


def tell(
    answer: Answer, *, order: Order = "listed", most: int | None = None, fold: bool = False
) -> Document:
    """What is said of an answer.

    Args:
        answer: to any question about one metric.
        order: of the rows of values.
        most: so many rows of each table of values; None for all.
        fold: whether values that can't be told from zero have a table of their own.
    """
    compares = answer.compares
    health = answer.question.name == "health"
    return Document(
        metric=answer.head.metric,
        title=title(answer),
        also=beside_title(answer),
        cautions=cautions(answer),
        notes=notes(answer),
        finding=finding(answer),
        changes=ways_of_change(answer) if compares else (),
        unchanged=unclear_changes(answer) if compares else (),
        days=days_lines(answer),
        counted=counted_line(answer),
        basis=basis(answer),
        asides=asides(answer),
        tables=list(health_tables(answer))
        if health
        else tables_of(answer, order=order, most=most, fold=fold),
        below=below(answer),
        meaning=meaning(answer),
    )
