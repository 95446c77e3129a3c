"""What goes with questions about a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.api.openapi.schema_types import (
    DAY,
    DAYS,
    FLAG,
    TEXT,
    array,
    choice,
    closed,
    record,
)
from deniable_aggregator.api.parameters import LARGEST_TOP
from deniable_aggregator.estimation.combination import ABOUT
from deniable_aggregator.estimation.postprocess import POSTPROCESS
from deniable_aggregator.statistics.intervals import CORRECTIONS, INTERVALS
from deniable_aggregator.statistics.reconstruction import RECONSTRUCTIONS
from deniable_aggregator.trends.series import BY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.api.openapi.schema_types import Schema

_TOP: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": LARGEST_TOP}

QUERY: Final[Mapping[str, Schema]] = {
    "since": DAY,
    "until": DAY,
    "top": _TOP,
    "detected": FLAG,
    "about": choice(ABOUT),
    "interval": choice(INTERVALS),
    "correction": choice(CORRECTIONS),
    "postprocess": choice(POSTPROCESS),
    "reconstruction": choice(RECONSTRUCTIONS),
    "segment": TEXT,
}
"""What goes with a question."""

ITEMS: Final = array(TEXT)
"""The parameter of the query that may come several times."""

SERIES_QUERY: Final[Mapping[str, Schema]] = {
    "item": ITEMS,
    "by": choice(BY),
    "since": DAY,
    "until": DAY,
    "about": choice(ABOUT),
    "interval": choice(INTERVALS),
    "top": _TOP,
}

CHANGE_QUERY: Final[Mapping[str, Schema]] = {
    "item": ITEMS,
    "before": DAYS,
    "after": DAYS,
    "about": choice(ABOUT),
    "interval": choice(INTERVALS),
    "correction": choice(CORRECTIONS),
    "top": _TOP,
}

QUESTION: Final = {
    **closed(
        record(
            {},
            {
                "candidates": array(TEXT, minItems=1),
                "sum": array(TEXT, minItems=1),
                "range": array(TEXT, minItems=2, maxItems=2),
            },
        )
    ),
    "minProperties": 1,
    "not": {"required": ["sum", "range"]},
}
