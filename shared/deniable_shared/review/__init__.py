"""The review of a registry: can what is collected, taken together, single out a device?"""

from __future__ import annotations

from deniable_shared.review.finding import Finding
from deniable_shared.review.guess import Guess, guess_after
from deniable_shared.review.metric_bits import MetricBits, Shares, bits_of
from deniable_shared.review.pairs import PairTable, read_pairs
from deniable_shared.review.priors import read_priors
from deniable_shared.review.reviewing import Review, review
from deniable_shared.review.together import (
    FEWEST_DEVICES,
    RecordBits,
    Together,
    records_of,
    together,
)

__all__ = [
    "FEWEST_DEVICES",
    "Finding",
    "Guess",
    "MetricBits",
    "PairTable",
    "RecordBits",
    "Review",
    "Shares",
    "Together",
    "bits_of",
    "guess_after",
    "read_pairs",
    "read_priors",
    "records_of",
    "review",
    "together",
]
