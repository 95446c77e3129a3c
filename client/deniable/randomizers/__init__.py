"""One file per mechanism: how a device turns a value into a report.

A randomizer draws every random choice from the `Randomness` it is given, in whole and exact
steps, so a test can walk through all choices of the shipped code and add up P(report | value). It
is registered by importing its file here.
"""

from deniable.randomizers import (  # noqa: F401  each registers its randomizers
    dbitflip,
    ldbitflip,
    lduchi,
    numbers,
    pairs,
    privset,
    rappor,
    sketch,
    smp,
    trie,
    wheel,
)
from deniable.randomizers.base import RandomSources, make_randomizer, randomizer_for
from deniable.randomizers.oracles import (  # noqa: F401
    grr,
    ht,
    lgrr,
    losue,
    olh,
    pgr,
    rhr,
    rr,
    ss,
    unary,
)

__all__ = ["RandomSources", "make_randomizer", "randomizer_for"]
