"""Who holds which string: words of languages, names of packages, and what is made of them.

Words are those of PyPI's wordfreq 3.1.1 (`pip install wordfreq==3.1.1`; CC BY-SA, for measuring
only), its large lists where there are any, with the listed frequencies rescaled to 1. Names are
those of the source packages of Debian 12.15 (main, amd64), ranked by how many binary packages
depend on what is built from them; the index they were taken from has the SHA-256 in
`PACKAGES_INDEX`. All others are made by `generated`.
"""

from __future__ import annotations

import gzip
import hashlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_shared.hashing import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

PACKAGES: Final = Path(__file__).with_name("debian_packages.txt.gz")
PACKAGES_INDEX: Final = "515e692f2c4121c6fcec444ef100cc18f79a991910615f3a88c8b7becfc94d2f"
PACKAGES_DIGEST: Final = "e252721b62f90c0dcab70e914258589660bde77b66ab3c55860453ed5c649f2d"
"""SHA-256 of the 15,000 names in their order, a line each."""

POPULATIONS: Final[dict[str, Callable[[], Population]]] = {}
"""Every population by its name."""

HELD_OUT: Final = ("phrases", "emoji", "modules", "messages")
"""Chosen before anything was measured, and measured once, with the final code."""


class Population(NamedTuple):
    """The strings that devices hold.

    Attributes:
        strings: distinct and canonical, the most common first.
        shares: float64, (strings,), falling; their sum is 1.
        longest: what a registry says of the metric, in characters.
        alphabet: the same.
        language: whose words they are, so that a model can be trained without them; or nothing.
        training: strings of the same kind that no device holds, which a model of phrases is made
            of; none for the shipped model.
    """

    strings: list[str]
    shares: NDArray[np.float64]
    longest: int
    alphabet: str = "text"
    language: str = ""
    training: tuple[str, ...] = ()


def population(
    make: Callable[[], Population],
) -> Callable[[], Population]:
    """Enters a population by the name of its function."""
    POPULATIONS[make.__name__] = make
    return make


def ranked(
    strings: Sequence[str],
    longest: int,
    *,
    exponent: float = 1.0,
    alphabet: str = "text",
) -> Population:
    """Strings whose shares fall by a power of their rank."""
    shares = np.arange(1, len(strings) + 1, dtype=np.float64) ** -exponent
    return shared_out(strings, shares, longest, alphabet)


def shared_out(
    strings: Sequence[str],
    weights: NDArray[np.float64],
    longest: int,
    alphabet: str = "text",
    language: str = "",
) -> Population:
    """Strings with weights; those of one canonical form are one."""
    together: defaultdict[str, float] = defaultdict(float)
    for string, weight in zip(strings, weights.tolist(), strict=True):
        together[canonical(string).decode()] += weight
    kept = sorted(together, key=together.__getitem__, reverse=True)
    shares = np.array([together[string] for string in kept])
    return Population(kept, shares / shares.sum(), longest, alphabet, language)


@cache
def words(language: str) -> dict[str, float]:
    """The words of a language with their frequencies, the most common first."""
    from wordfreq import get_frequency_dict  # only benchmarks need it

    return dict(get_frequency_dict(language, "best"))


@cache
def packages() -> list[str]:
    """15,000 names, the one that most packages depend on first."""
    text = gzip.decompress(PACKAGES.read_bytes())
    if hashlib.sha256(text).hexdigest() != PACKAGES_DIGEST:
        raise ValueError(f"{PACKAGES.name} must be as it was pinned: take it from the repository")
    return text.decode().split()


def _language(language: str) -> Population:
    listed = words(language)
    return shared_out(list(listed), np.array(list(listed.values())), 10, language=language)


@population
def english() -> Population:
    """321,180 words."""
    return _language("en")


@population
def chinese() -> Population:
    """334,609 words."""
    return _language("zh")


@population
def hindi() -> Population:
    """26,653 words: there is no large list."""
    return _language("hi")


@population
def arabic() -> Population:
    """620,701 words."""
    return _language("ar")


@population
def package_names() -> Population:
    """Names of packages, shares by 1 / rank."""
    return ranked(packages(), 18)
