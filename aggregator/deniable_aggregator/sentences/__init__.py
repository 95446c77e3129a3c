"""Answers in plain sentences, the same for commands, pages, notebooks and reports.

`sentence` says an answer whole: `cautions` first, then the `finding`, then its `basis`. Ranges are
rounded outward, so that no sentence is surer than the interval behind it.
"""

from deniable_aggregator.sentences.cautions import basis, cautions
from deniable_aggregator.sentences.change import clear_changes, unclear_changes, ways_of_change
from deniable_aggregator.sentences.closeness import closeness_in_words
from deniable_aggregator.sentences.explaining import explanation, fakes_in_words, possible_shift
from deniable_aggregator.sentences.finding import finding, sentence
from deniable_aggregator.sentences.ranges import (
    difference_ends,
    difference_in_words,
    number_ends,
    number_in_words,
    number_range_in_words,
    point_ends,
    point_in_words,
    points_in_words,
    range_in_words,
    share_ends,
    share_in_words,
)
from deniable_aggregator.sentences.shares import untold_in_words
from deniable_aggregator.sentences.wording import (
    as_sentence,
    counted,
    days_between,
    quantile_in_words,
    shown_value,
)

__all__ = [
    "as_sentence",
    "basis",
    "cautions",
    "clear_changes",
    "closeness_in_words",
    "counted",
    "days_between",
    "difference_ends",
    "difference_in_words",
    "explanation",
    "fakes_in_words",
    "finding",
    "number_ends",
    "number_in_words",
    "number_range_in_words",
    "point_ends",
    "point_in_words",
    "points_in_words",
    "possible_shift",
    "quantile_in_words",
    "range_in_words",
    "sentence",
    "share_ends",
    "share_in_words",
    "shown_value",
    "unclear_changes",
    "untold_in_words",
    "ways_of_change",
]
