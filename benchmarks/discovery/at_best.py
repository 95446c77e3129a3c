"""``python -m benchmarks.discovery.at_best``: the most that a decoder could find in these reports.

Every report of a string's devices tells of it: those of the levels before its end of its
beginning. So a decoder that knew where to look could pool all of them, whatever the levels' shares.
It has to allow for all strings of as many bits: one of l bits gets 2^-l of the false finds that are
allowed. For each cell, which part of the 32 most common strings that test is expected to find, if
there were no others.
"""

from __future__ import annotations

import argparse
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, cast

from scipy import special

from benchmarks.discovery import runs
from benchmarks.discovery.__main__ import chosen
from benchmarks.discovery.scores import TOP
from deniable_shared.hashing import canonical

if TYPE_CHECKING:
    from benchmarks.discovery.cells import Cell
    from deniable_shared.mechanisms import Trie

FALSE_FINDS: Final = 0.05
"""The part of what is shown that may be false."""
_NORMAL: Final = NormalDist()


def at_best(cell: Cell) -> float:
    """The part of the most common strings that the best decoder finds, in [0, 1]."""
    found = runs.coded(cell.population, cell.without)
    trie = cast("Trie", runs.spec_of(cell, found.code, 0).mechanism)
    support = trie.support(trie.levels - 1)
    error = (support.q * (1 - support.q) / cell.devices) ** 0.5 / (support.p - support.q)
    shares = found.population.shares.tolist()
    expected = 0.0
    for text, share in zip(found.truth.top, shares, strict=False):
        bits, length = found.code.encode(canonical(text))
        if found.code.decode(bits, length)[1]:
            needed = float(-special.ndtri(FALSE_FINDS * TOP * 2.0**-length))
            expected += _NORMAL.cdf(share / error - needed)
    return expected / len(found.truth.top)


def main() -> None:
    """Calculates and prints, a line for each cell."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.discovery.at_best",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cells", nargs="*", metavar="CELL", help="names, or how they begin")
    for cell in chosen(parser.parse_args().cells):
        print(f"{cell.name}: {at_best(cell):.3f}", flush=True)


if __name__ == "__main__":
    main()
