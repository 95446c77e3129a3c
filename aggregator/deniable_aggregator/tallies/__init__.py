"""One file per mechanism: report bytes to a tally of integers, and a tally to shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.tallies.base import Shares, Tally
from deniable_aggregator.tallies.cms import CountMeanSketchTally
from deniable_aggregator.tallies.grr import GeneralizedRandomizedResponseTally
from deniable_aggregator.tallies.rappor import RapporTally
from deniable_aggregator.tallies.rr import RandomizedResponseTally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_shared.spec import Spec

_TALLIES: Final[Mapping[str, Callable[[Spec], Tally]]] = {
    "cms": CountMeanSketchTally,
    "grr": GeneralizedRandomizedResponseTally,
    "rappor": RapporTally,
    "rr": RandomizedResponseTally,
}


def tally_for(spec: Spec) -> Tally:
    """The tally of a spec's mechanism."""
    return _TALLIES[spec.mechanism.name](spec)


__all__ = ["Shares", "Tally", "tally_for"]
