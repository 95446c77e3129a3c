"""Strings that are made, each kind from its own seed: domains, addresses, signatures, and stress.

Stress are populations that the design was not made for: one very common string, very steep and
flat shares, strings unlike any words, and long common prefixes.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.discovery.populations import (
    Population,
    packages,
    population,
    ranked,
    shared_out,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MANY: Final = 15_000

ENDINGS: Final = (
    *("com", "com", "com", "com", "com", "org", "net", "io", "de"),
    *("co.uk", "dev", "app", "fr", "com.br"),
)
"""Ten endings, some more common."""

HOSTS: Final = ("", "", "", "", "", "", "www.", "www.", "mail.", "api.")

SUBJECTS: Final = "Http Socket Image Session Cache Network Account Upload Media Index"
ROLES: Final = "Client Manager Pool Decoder Store Worker Handler Parser Service View"
VERBS: Final = "open close read write load parse send on get bind"
OBJECTS: Final = "Header Stream Next Frame Token State Result Error Buffer All"


def distinct(make: Callable[[np.random.Generator], str], seed: int, count: int) -> list[str]:
    """So many different strings, in the order in which they were drawn."""
    generator = np.random.default_rng(seed)
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        drawn[make(generator)] = None
    return list(drawn)


def _one_of(options: Sequence[str], generator: np.random.Generator) -> str:
    return options[int(generator.integers(len(options)))]


def _joined(first: str, second: str) -> list[str]:
    return [one + other for one in first.split() for other in second.split()]


def _domain_names() -> list[str]:
    generator = np.random.default_rng(1)
    plain = [name for name in packages() if re.fullmatch("[a-z][a-z0-9-]*", name)]
    return [f"{_one_of(HOSTS, generator)}{name}.{_one_of(ENDINGS, generator)}" for name in plain]


@population
def domains() -> Population:
    """The names of packages with an ending, some with a host; seed 1."""
    return ranked(_domain_names(), 18)


@population
def emails() -> Population:
    """Two words, a dot and one of 200 domains; seed 2."""
    first = [word for word in list(words("en"))[:3_000] if word.isalpha() and len(word) > 2]
    hosts = [name.removeprefix("www.") for name in _domain_names()[:200]]

    def make(generator: np.random.Generator) -> str:
        name = f"{_one_of(first, generator)}.{_one_of(first, generator)}"
        return f"{name}@{hosts[int(200 * generator.random() ** 2)]}"

    return ranked(distinct(make, 2, MANY), 26)


@population
def crashes() -> Population:
    """One or two Class.method; seed 3."""
    classes, methods = _joined(SUBJECTS, ROLES), _joined(VERBS, OBJECTS)

    def make(generator: np.random.Generator) -> str:
        frames = (
            f"{_one_of(classes, generator)}.{_one_of(methods, generator)}"
            for _ in range(int(generator.integers(1, 3)))
        )
        return " < ".join(frames)

    return ranked(distinct(make, 3, MANY), 46)


@population
def hexadecimal() -> Population:
    """Identifiers of 63 random bits in 16 digits; seed 4."""
    return ranked(
        distinct(lambda generator: f"{generator.integers(1 << 63):016x}", 4, MANY),
        16,
        alphabet="hex",
    )


@population
def half() -> Population:
    """One string of half of the devices; the others share the rest by 1 / rank."""
    names = packages()[:5_000]
    rest = 1 / np.arange(1, len(names))
    return shared_out(names, np.concatenate([[rest.sum()], rest]), 18)


@population
def steep() -> Population:
    """Names of packages, shares by rank to the power of -1.6."""
    return ranked(packages(), 18, exponent=1.6)


@population
def flat() -> Population:
    """300 equally common names of packages."""
    return ranked(packages()[::50], 18, exponent=0.0)


@population
def tokens() -> Population:
    """12 characters of base64, unlike any words; seed 5."""
    return ranked(
        distinct(lambda generator: base64.b64encode(generator.bytes(9)).decode(), 5, 2_000), 26
    )


@population
def capitals() -> Population:
    """Rarer English words of at least four letters, in upper case."""
    listed = [word for word in words("en") if word.isalpha() and word.isascii() and len(word) > 3]
    return ranked([word.upper() for word in listed[2_000:7_000]], 14)


@population
def scripts() -> Population:
    """Six to nine letters of Georgian, Tamil, Ethiopic, Cherokee and digits; seed 6."""
    letters = [
        [chr(code) for code in range(start, start + 30) if chr(code).isalnum()]
        for start in (0x10D0, 0x0B85, 0x1200, 0x13A0, 0x30)
    ]

    def make(generator: np.random.Generator) -> str:
        of = (letters[int(generator.integers(5))] for _ in range(int(generator.integers(3, 5))))
        return "".join(_one_of(each, generator) + _one_of(each, generator) for each in of)

    return ranked(distinct(make, 6, 2_000), 24)


@population
def addresses() -> Population:
    """Web addresses of one host, so that the first 25 characters are the same; seed 7."""
    parts = [word for word in list(words("en"))[:2_000] if word.isalpha() and len(word) > 2]

    def make(generator: np.random.Generator) -> str:
        path = (_one_of(parts, generator) for _ in range(int(generator.integers(1, 3))))
        return "https://shop.example.com/" + "/".join(path)

    return ranked(distinct(make, 7, 3_000), 40)


@population
def phrases() -> Population:
    """Searches of two or three words of one of five languages; seed 8. Held out."""
    listed = [list(words(language))[:800] for language in ("en", "de", "es", "fr", "tr")]

    def make(generator: np.random.Generator) -> str:
        of = listed[int(generator.integers(5))]
        count = int(generator.integers(2, 4))
        return " ".join(of[int(800 * generator.random() ** 2)] for _ in range(count))

    return ranked(distinct(make, 8, 4_000), 18, exponent=1.1)


@population
def emoji() -> Population:
    """One to three emoji, now and then with a word; seed 9. Held out."""
    listed = [chr(code) for code in range(0x1F600, 0x1F645)] + ["❤️", "👍🏽", "lol", "ok"]

    def make(generator: np.random.Generator) -> str:
        count = int(generator.integers(1, 4))
        return "".join(listed[int(len(listed) * generator.random() ** 2)] for _ in range(count))

    return ranked(distinct(make, 9, 3_000), 10, exponent=1.2)
