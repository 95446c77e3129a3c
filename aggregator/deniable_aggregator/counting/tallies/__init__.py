"""Report bytes to a tally of integers, and a tally to shares: one file per mechanism.

A tally is registered by importing its file here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from deniable_aggregator.counting.statistics.binomial import SupportCounts
from deniable_aggregator.counting.statistics.shares import ItemShares
from deniable_aggregator.counting.tallies import (  # noqa: F401  each registers its tallies
    fast_oracles,
    numbers,
    oracle,
    pairs,
    sets,
    strings,
    trie,
    wheel,
)
from deniable_aggregator.counting.tallies.base import (
    ShareTally,
    Tally,
    oracle_tally_for,
    registered_tally,
)
from deniable_aggregator.counting.tallies.counts import FewCounts, all_counters
from deniable_aggregator.counting.tallies.known_domains import (
    KnownDomainTally,
    SampledAttributeTally,
)
from deniable_aggregator.counting.tallies.sets import SetSizes, SetTally
from deniable_aggregator.counting.tallies.strings import (
    RapporTally,
    SketchTally,
    shares_of_sketches,
)
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Oracle

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.counting.tallies.counts import AnyCounts, Counts
    from deniable_shared.spec import Spec

    Reported = tuple[Spec, NDArray[np.int64], int]
    """A spec, its counts, and how many reports are in them."""


REMEMBERED_TALLIES: Final = 1_024
"""As many specs keep their tallies, with what these worked out once."""


@lru_cache(maxsize=REMEMBERED_TALLIES)
def tally_for(spec: Spec) -> Tally:
    """What counts the reports of a spec, of whatever type: the same object for ingest and answers.

    Raises:
        ParameterError: if no tally is registered for its mechanism.
    """
    if isinstance(spec.mechanism, Oracle):
        return KnownDomainTally(spec, oracle_tally_for(spec.mechanism))
    tally: Tally = registered_tally(spec.mechanism)(spec)
    return tally


def share_tally_for(spec: Spec) -> ShareTally:
    """The tally of a spec that has items.

    Raises:
        ParameterError: if it has none, or no tally is registered for its mechanism.
    """
    tally = tally_for(spec)
    if not isinstance(tally, ShareTally):
        raise ParameterError("mechanism", "one that estimates shares", spec.mechanism.name)
    return tally


def nonempty(
    tallies: Sequence[tuple[Spec, AnyCounts]],
) -> list[tuple[Spec, AnyCounts, int]]:
    """Those of one metric's tallies that hold reports, with how many.

    Raises:
        ParameterError: if none does.
    """
    reported = [
        (spec, counts, reports)
        for spec, counts in tallies
        if (reports := _reports(spec, counts)) > 0
    ]
    if not reported:
        raise ParameterError("reports", "at least 1", 0)
    return reported


def _reports(spec: Spec, counts: Counts) -> int:
    return counts.reports if isinstance(counts, FewCounts) else tally_for(spec).reports(counts)


__all__ = [
    "FewCounts",
    "ItemShares",
    "RapporTally",
    "SampledAttributeTally",
    "SetSizes",
    "SetTally",
    "ShareTally",
    "SketchTally",
    "SupportCounts",
    "Tally",
    "all_counters",
    "nonempty",
    "oracle_tally_for",
    "share_tally_for",
    "shares_of_sketches",
    "tally_for",
]
