"""Report bytes to a tally of integers, and a tally to shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.statistics.support_counts import ItemShares, SupportCounts
from deniable_aggregator.tallies.base import ShareTally, Tally
from deniable_aggregator.tallies.dbitflip import DBitFlipTally
from deniable_aggregator.tallies.hadamard import HadamardTally, RecursiveHadamardTally
from deniable_aggregator.tallies.known_domain import KnownDomainTally
from deniable_aggregator.tallies.numeric import NumberTally
from deniable_aggregator.tallies.olh import LocalHashingTally
from deniable_aggregator.tallies.oracle import BitsTally, IndexTally, OracleTally, SubsetTally
from deniable_aggregator.tallies.pairs import SampledCoefficientsTally
from deniable_aggregator.tallies.pgr import ProjectiveGeometryResponseTally
from deniable_aggregator.tallies.rappor import RapporTally
from deniable_aggregator.tallies.sketch import SketchTally
from deniable_aggregator.tallies.smp import SampledAttributeTally
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    GroupedBins,
    NumericMechanism,
    Oracle,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

    Reported = tuple[Spec, NDArray[np.int64], int]
    """A spec, its counts, and how many reports are in them."""

_ORACLES: Final[Mapping[str, Callable[[Any], OracleTally[Any]]]] = {
    "grr": IndexTally,
    "ht": HadamardTally,
    "lgrr": IndexTally,
    "losue": BitsTally,
    "olh": LocalHashingTally,
    "oue": BitsTally,
    "pgr": ProjectiveGeometryResponseTally,
    "rhr": RecursiveHadamardTally,
    "rr": IndexTally,
    "ss": SubsetTally,
    "sue": BitsTally,
}


def tally_for(spec: Spec) -> Tally:
    """What counts the reports of a spec, of whatever type."""
    if isinstance(spec.mechanism, NumericMechanism):
        return NumberTally(spec)
    if isinstance(spec.mechanism, GroupedBins):
        return DBitFlipTally(spec)
    return share_tally_for(spec)


def share_tally_for(spec: Spec) -> ShareTally:
    """The tally of a spec that has items."""
    mechanism = spec.mechanism
    if isinstance(mechanism, Oracle):
        return KnownDomainTally(spec, oracle_tally_for(mechanism))
    if isinstance(mechanism, Sketch):
        return SketchTally(spec, oracle_tally_for(mechanism.inner))
    if isinstance(mechanism, SampledAttribute):
        return SampledAttributeTally(spec, [oracle_tally_for(each) for each in mechanism.inner])
    if isinstance(mechanism, SampledCoefficients):
        return SampledCoefficientsTally(spec)
    return RapporTally(spec)


def oracle_tally_for(oracle: Oracle) -> OracleTally[Any]:
    """The tally of an oracle by itself."""
    return _ORACLES[oracle.name](oracle)


def nonempty(tallies: Sequence[tuple[Spec, NDArray[np.int64]]]) -> list[Reported]:
    """Those of one metric's tallies that hold reports, with how many.

    Raises:
        ParameterError: if none does.
    """
    found = [
        (spec, counts, reports)
        for spec, counts in tallies
        if (reports := tally_for(spec).reports(counts)) > 0
    ]
    if not found:
        raise ParameterError("reports", "at least 1", 0)
    return found


__all__ = [
    "ItemShares",
    "RapporTally",
    "SampledAttributeTally",
    "ShareTally",
    "SupportCounts",
    "Tally",
    "nonempty",
    "oracle_tally_for",
    "share_tally_for",
    "tally_for",
]
