"""The client's randomizers, one call at a time on one core: randomization and packing."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from benchmarks.timing import Row, at_least, at_most, rate, seconds
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import mechanism_choice
from deniable_shared.letters import DEFAULT_LONGEST, LetterCode, shipped_model
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    OptimizedUnaryEncoding,
    Oracle,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    Sketch,
    SymmetricUnaryEncoding,
    Trie,
)
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

CALLS: Final = 20_000
NAIVE_CALLS: Final = 300
SECRET: Final = b"s" * 32
EPSILON: Final = Fraction(1)
BITS: Final = 1_024
STRING_EPSILON: Final = Fraction(4)
STRINGS: Final = ("weather", "www.example.com", "Zürich", "天気予報")


def spec_of(mechanism: Mechanism) -> Spec:
    """A metric with this mechanism."""
    if isinstance(mechanism, RandomizedResponse):
        return Spec("bench", "flag", "boolean", (), None, mechanism, "day")
    if isinstance(mechanism, Oracle):
        values = tuple(f"item {index}" for index in range(mechanism.size))
        return Spec("bench", "choice", "category", values, None, mechanism, "day")
    return Spec("bench", "text", "string", (), None, mechanism, "day")


def sketch() -> Spec:
    """64 rows of 1,024 bits."""
    return spec_of(Sketch(rows=64, inner=SymmetricUnaryEncoding.for_epsilon(BITS, EPSILON)))


def categories(size: int) -> Spec:
    """Generalized randomized response over `size` items."""
    return spec_of(GeneralizedRandomizedResponse.for_epsilon(size, EPSILON))


def points(size: int, epsilon: int) -> Spec:
    """Projective geometry response over `size` items."""
    return spec_of(ProjectiveGeometryResponse.for_epsilon(size, Fraction(epsilon)))


def unary() -> Spec:
    """Optimized unary encoding over 1,024 items."""
    return spec_of(OptimizedUnaryEncoding.for_epsilon(BITS, EPSILON))


def filters(*, dyadic: bool) -> Spec:
    """RAPPOR with 1,024 bits, with the probabilities of its paper or with any."""
    if dyadic:
        half = 1 << 31
        paper = Rappor(bits=BITS, hashes=2, cohorts=64, flip=half // 2, p=half, q=half + half // 2)
        return spec_of(paper)
    return spec_of(Rappor.for_epsilons(EPSILON, Fraction(2), bits=BITS))


def looked_for() -> Spec:
    """Strings that are looked for, as a registry gets them without options."""
    return spec_of(mechanism_choice.sketch_for(STRING_EPSILON, 1))


def discovered() -> Spec:
    """Strings that are discovered, as a registry gets them without options."""
    letters = LetterCode("text", DEFAULT_LONGEST, shipped_model())
    mechanism = Trie.for_epsilon(letters.levels, STRING_EPSILON)
    return Spec("bench", "text", "string", (), None, mechanism, "day", letters=letters)


def microseconds(spec: Spec) -> float:
    """From a text to the report's bytes."""
    randomizer, encode = randomizer_for(spec, Randomness()), spec.encode

    def run() -> None:
        for _ in range(CALLS // len(STRINGS)):
            for text in STRINGS:
                randomizer.report(encode(text), SECRET)

    return seconds(run) / CALLS * 1e6


def reports_per_second(spec: Spec, value: object) -> float:
    """From the encoded value to the report's bytes."""
    randomizer, item = randomizer_for(spec, Randomness()), spec.encode(value)

    def run() -> None:
        for _ in range(CALLS):
            randomizer.report(item, SECRET)

    return rate(run, CALLS)


def naive_bits_per_second() -> float:
    """One floating-point random number per bit, as the field's own code does it."""

    def run() -> None:
        for _ in range(NAIVE_CALLS):
            bits = [random.random() < 0.37 for _ in range(BITS)]  # noqa: S311  the naive way
            int("".join("01"[bit] for bit in bits), 2).to_bytes(BITS // 8, "big")

    return rate(run, NAIVE_CALLS)


def naive_grr_per_second(size: int) -> float:
    """Two calls of Python's generator."""

    def run() -> None:
        for _ in range(CALLS):
            index = 3 if random.random() < 0.1 else random.randrange(size)  # noqa: S311
            index.to_bytes(2, "big")

    return rate(run, CALLS)


def naive_pgr_per_second(spec: Spec) -> float:
    """Coordinate by coordinate: draw, solve for the pivot, normalise, number."""
    mechanism = spec.mechanism
    assert isinstance(mechanism, ProjectiveGeometryResponse)
    q, item = mechanism.q, [1] * mechanism.t

    def run() -> None:
        for _ in range(CALLS):
            point = [0] * mechanism.t
            while not any(point):
                point = [random.randrange(q) for _ in item]  # noqa: S311
                rest = sum(a * b for a, b in zip(point[1:], item[1:], strict=True))
                inside = random.random() < mechanism.inside / 2**32  # noqa: S311
                point[0] = ((0 if inside else 1) - rest) % q
            leading = next(digit for digit in point if digit)
            inverse, number = pow(leading, -1, q), 0
            for digit in point:
                number = number * q + digit * inverse % q
            number.to_bytes(4, "big")

    return rate(run, CALLS, rounds=1)


def rows() -> list[Row]:
    """The figures."""
    unit = "reports/s"
    flag = spec_of(RandomizedResponse.for_epsilon(2, EPSILON))
    small, large = categories(16), categories(1_024)
    paper, any_rappor = filters(dyadic=True), filters(dyadic=False)
    grr = ("naive", naive_grr_per_second(1_024))
    bits = ("naive", naive_bits_per_second())

    search, discovery = microseconds(looked_for()), microseconds(discovered())

    def wanted(
        name: str, spec: Spec, value: object, limit: float, beside: tuple[str, float]
    ) -> Row:
        return at_least(f"client {name}", reports_per_second(spec, value), unit, limit, beside)

    return [
        Row("client rr", reports_per_second(flag, True), unit),
        wanted("grr, k = 16", small, "item 3", 500_000, grr),
        wanted("grr, k = 1,024", large, "item 3", 500_000, grr),
        *(
            wanted(
                f"pgr, k = {size:,}, epsilon {epsilon}",
                spec,
                f"item {size - 1}",
                300_000,
                ("naive", naive_pgr_per_second(spec)),
            )
            for size, epsilon in ((1_024, 1), (1_024, 2), (65_536, 1), (65_536, 2))
            for spec in (points(size, epsilon),)
        ),
        wanted("oue, k = 1,024", unary(), "item 3", 120_000, bits),
        wanted("cms, 1,024 bits", sketch(), "word", 100_000, bits),
        wanted("rappor, 1,024 bits, f = 1/2, p = 1/2, q = 3/4", paper, "word", 100_000, bits),
        Row(
            "client rappor, 1,024 bits, other probabilities",
            reports_per_second(any_rappor, "word"),
            unit,
            beside=(bits,),
        ),
        Row("client text to report, looked for", search, "µs"),
        Row("client text to report, discovered", discovery, "µs"),
        at_most("client discovered, what it costs more", discovery - search, "µs", 20.0),
    ]
