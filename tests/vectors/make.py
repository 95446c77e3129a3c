"""Writes the test vectors: ``python -m tests.vectors.make``.

They pin, byte for byte, what must never change: hashing, the reports that given random bytes lead
to, tallies and uploads. Run it only to add vectors; a diff in an existing one is a broken promise.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable.randomizers.permanent import device_class
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import hashing, wire
from deniable_shared.device_classes import groups_of_classes
from deniable_shared.letters import LetterCode, Model
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    OptimizedLocalHashing,
    OptimizedUnaryEncoding,
    Piecewise,
    PrivSet,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    Rappor,
    RecursiveHadamardResponse,
    SampledAttribute,
    SampledCoefficients,
    Sketch,
    SquareWave,
    SubsetSelection,
    SymmetricUnaryEncoding,
    Wheel,
)
from tests.privacy.specs import (
    attribute,
    boolean,
    category,
    discovered,
    histogram,
    number,
    record,
    set_of,
    sketch,
    string,
)

FOLDER = Path(__file__).parent
STREAM_BYTES = 8_192
MEMOIZED = (Fraction(1), Fraction(2))
TEXTS = ["ant", "café", ""]
LETTERS = Model(base64.b64decode("RExNMXjaY2BkYGQAAy5aAxY2NjYQBgMWMAvK5RoMgBkA0JQJlA=="))
"""A model of one state, in which e, a, t, o and n have 4 bits, other letters 6, all else 10."""

TEN = "zero one two three four five six seven eight nine"

SPECS = {
    "rr": (boolean(RandomizedResponse.for_epsilon(2, Fraction(1))), [True, False]),
    "grr": (
        category("red green blue", GeneralizedRandomizedResponse.for_epsilon(3, Fraction(1))),
        ["red", "green", "blue"],
    ),
    "picked": (
        replace(
            category("red green blue", GeneralizedRandomizedResponse.for_epsilon(3, Fraction(1))),
            pick="random",
        ),
        ["red", "green", "blue"],
    ),
    "cms": (
        string(sketch("sue", 2, rows=16, buckets=64)),
        ["ant", "café", ""],
    ),
    "rappor": (
        string(Rappor.for_epsilons(Fraction(2), Fraction(4), bits=64, hashes=2, cohorts=16)),
        ["ant", "café", ""],
    ),
    "rappor with few binary digits": (
        string(
            Rappor(bits=64, hashes=2, cohorts=16, flip=1 << 30, p=1 << 30, q=3 << 30),
        ),
        ["ant", "bee"],
    ),
    "pgr": (
        category(
            "a b c d e f g h i j k l m n o p",
            ProjectiveGeometryResponse.for_epsilon(16, Fraction(1)),
        ),
        ["a", "b", "e", "p"],
    ),
    "sketch over pgr": (
        string(sketch("pgr", 2, rows=16, buckets=64)),
        ["ant", "café", ""],
    ),
    "ht": (
        category(TEN, HadamardResponse.for_epsilon(10, Fraction(1))),
        ["zero", "one", "nine"],
    ),
    "hcms": (
        string(sketch("ht", 2, rows=16, buckets=256)),
        ["ant", "café", ""],
    ),
    "rhr": (
        category(TEN, RecursiveHadamardResponse.with_bits(10, 3, Fraction(2))),
        ["zero", "one", "nine"],
    ),
    "ss": (
        category(TEN, SubsetSelection.with_subset(10, 3, Fraction(1))),
        ["zero", "one", "nine"],
    ),
    "oue": (
        category(TEN, OptimizedUnaryEncoding.for_epsilon(10, Fraction(1))),
        ["zero", "one", "nine"],
    ),
    "sue": (
        category(TEN, SymmetricUnaryEncoding.for_epsilon(10, Fraction(1))),
        ["zero", "one", "nine"],
    ),
    "olh": (
        category(TEN, OptimizedLocalHashing.for_epsilon(10, Fraction(1))),
        ["zero", "one", "nine"],
    ),
    "smp": (
        record(
            SampledAttribute(
                inner=(
                    GeneralizedRandomizedResponse.for_epsilon(3, Fraction(1)),
                    RandomizedResponse.for_epsilon(2, Fraction(1)),
                    OptimizedUnaryEncoding.for_epsilon(10, Fraction(1)),
                )
            ),
            attribute("colour", "red green blue"),
            attribute("late"),
            attribute("count", TEN),
        ),
        [
            {"colour": "red", "late": True, "count": "one"},
            {"colour": "blue", "late": False, "count": "nine"},
        ],
    ),
    "pairs": (
        record(
            SampledCoefficients.for_epsilon(3, Fraction(1)),
            *map(attribute, ("late", "full", "paid")),
        ),
        [
            {"late": True, "full": True, "paid": False},
            {"late": False, "full": True, "paid": False},
        ],
    ),
    "duchi": (number(OneBitMean.for_epsilon(Fraction(1))), [0.0, 0.25, 1, -3, 0.999]),
    "piecewise": (number(Piecewise.for_epsilon(Fraction(1))), [0.0, 0.25, 1, -3, 0.999]),
    "hybrid": (number(Hybrid.for_epsilon(Fraction(1))), [0.0, 0.25, 1, -3, 0.999]),
    "laplace": (number(DiscreteLaplace.for_epsilon(Fraction("0.7"))), [0.0, 0.25, 1, -3, 0.999]),
    "gaussian": (
        number(DiscreteGaussian(steps=187, noise=624_124, nanonats=10**9)),
        [0.0, 0.25, 1, -3, 0.999],
    ),
    "sw": (histogram(SquareWave.for_epsilon(32, Fraction(1))), [0.0, 0.25, 1, -3, 0.999]),
    "dbitflip": (histogram(DBitFlip.for_epsilon(32, Fraction(1), 5)), [0.0, 0.25, 1, -3, 0.999]),
    "lgrr": (
        category("red green blue", MemoizedRandomizedResponse.for_epsilons(3, *MEMOIZED)),
        ["red", "green", "blue"],
    ),
    "lgrr of a flag": (
        boolean(MemoizedRandomizedResponse.for_epsilons(2, *MEMOIZED)),
        [True, False],
    ),
    "losue": (category(TEN, MemoizedUnaryEncoding.for_epsilons(10, *MEMOIZED)), ["one", "nine"]),
    "sketch over losue": (
        string(Sketch(rows=64, inner=MemoizedUnaryEncoding.for_epsilons(128, *MEMOIZED))),
        TEXTS,
    ),
    "loloha": (
        string(Sketch(rows=64, inner=MemoizedRandomizedResponse.for_epsilons(4, *MEMOIZED))),
        TEXTS,
    ),
    "trie": (
        discovered(LetterCode("text", 10, LETTERS), Fraction(1)),
        ["tea", "tomato", "a long sentence", "café", ""],
    ),
    "trie of hex digits": (
        discovered(LetterCode("hex", 8, LETTERS), Fraction(4)),
        ["0123abcd", "0123ABCD", "7f", "none"],
    ),
    "lduchi": (
        number(MemoizedOneBitMean.for_epsilons(*MEMOIZED, 4)),
        [0.0, 0.25, 1, -3, 0.999],
    ),
    "ldbitflip": (
        histogram(MemoizedDBitFlip.for_epsilons(32, *MEMOIZED, 5)),
        [0.0, 0.25, 1, -3, 0.999],
    ),
    "privset": (
        set_of(TEN, PrivSet.for_epsilon(10, 4, Fraction(1))),
        [["three", "one"], [], TEN.split(), ["nine", "unlisted", "nine"]],
    ),
    "privset of two bytes": (
        set_of(" ".join(map(str, range(300))), PrivSet.for_epsilon(300, 8, Fraction(4))),
        [["299", "7", "12"], []],
    ),
    "wheel": (
        set_of("", Wheel.for_epsilon(3, Fraction(1), 10_000)),
        [["ant", "café", "cafe\u0301"], [], [*TEN.split(), "ten"], [""]],
    ),
    "wheel over a list, with two bytes for the bucket": (
        set_of(TEN, Wheel.for_epsilon(8, Fraction(4), 1_000, rows=16)),
        [["three", "one"], [], TEN.split(), ["nine", "unlisted", "nine"]],
    ),
}


def stream(seed: str) -> Randomness:
    """Random bytes for a vector: SHAKE-256 of the seed, consumed from the first byte on."""
    data = hashlib.shake_256(seed.encode()).digest(STREAM_BYTES)
    return Randomness(lambda _count: data, STREAM_BYTES)


def report_vectors() -> list[dict[str, object]]:
    vectors: list[dict[str, object]] = []
    for name, (spec, values) in SPECS.items():
        cases, payload = [], b""
        for index in range(12):
            value = values[index % len(values)]
            seed, secret = f"{name}/{index}", hashlib.sha256(bytes([index])).digest()
            report = randomizer_for(spec, stream(seed)).report(spec.encode(value), secret)
            payload += report
            cases.append(
                {"value": value, "seed": seed, "secret": secret.hex(), "report": report.hex()}
            )
        tally = tally_for(spec).count(payload)
        vectors.append(
            {
                "name": name,
                "spec": spec.canonical(),
                "digest": spec.digest.hex(),
                "cases": cases,
                "tally": {str(index): int(tally[index]) for index in tally.nonzero()[0]},
            }
        )
    return vectors


def hashing_vectors() -> list[dict[str, object]]:
    vectors: list[dict[str, object]] = []
    for text in ("", "a", "dark", "café", "cafe\u0301", "日本語", "x" * 100):
        salt = hashing.salt("tests", "text")
        word = hashing.word(hashing.canonical(text), salt)
        members = [
            {
                "member": member,
                "key": hashing.key(member),
                "buckets": size,
                "bucket": hashing.bucket(word, hashing.key(member), size),
            }
            for member, size in ((0, 2), (1, 1024), (65_535, 1000))
        ]
        vectors.append(
            {"text": text, "application": "tests", "metric": "text", "salt": salt, "word": word}
            | {"members": members}
        )
    return vectors


def class_vectors() -> list[dict[str, object]]:
    vectors: list[dict[str, object]] = []
    for index, groups in enumerate((1, 10, 48, 64)):
        secret, digest = (hashlib.sha256(text + bytes([index])).digest() for text in (b"s", b"d"))
        found = device_class(secret)
        mapped = groups_of_classes(digest, groups)
        vectors.append(
            {"secret": secret.hex(), "class": found, "digest": digest.hex(), "groups": groups}
            | {"group": mapped[found], "group_of_each_class": mapped}
        )
    return vectors


def upload_vectors() -> dict[str, dict[str, str]]:
    identifier, digest = bytes(range(16)), bytes(range(32))
    good = {
        "one report": wire.Upload(identifier, (wire.Part(digest, 20_000, b"\x01"),)),
        "a relay's batch": wire.Upload(
            identifier, (wire.Part(digest, 20_000, bytes(600)), wire.Part(digest, 19_999, b"\x07"))
        ),
    }
    one = wire.encode(good["one report"])
    bad = {
        "empty": b"",
        "truncated": one[:-1],
        "trailing byte": one + b"\x00",
        "not a map": b"\x93\x01\x02\x03",
        "version 2": one.replace(b"\xa1v\x01", b"\xa1v\x02"),
        "unknown key": one.replace(b"\xa3pad", b"\xa3pax"),
        "id of 15 bytes": one.replace(b"\xc4\x10" + identifier, b"\xc4\x0f" + identifier[:-1]),
        "digest of 31 bytes": one.replace(b"\xc4\x20" + digest, b"\xc4\x1f" + digest[:-1]),
        "negative epoch": one.replace(b"\xcd\x4e\x20", b"\xd1\xff\xff"),
        "epoch as text": one.replace(b"\xcd\x4e\x20", b"\xa2no"),
        "no payload": one.replace(b"\xc4\x01\x01", b"\xc4\x00"),
        "no reports": b"\x84\xa1v\x01\xa2id\xc4\x10"
        + identifier
        + b"\xa7reports\x90\xa3pad\xc4\x00",
        "nested arrays": b"\x91" * 5_000 + b"\x90",
        "array of four billion": b"\xdd\xff\xff\xff\xff",
        "binary of four gigabytes": b"\xc6\xff\xff\xff\xff",
        "extension type": b"\xc7\x01\x05\x00",
    }
    return {
        "good": {name: wire.encode(upload).hex() for name, upload in good.items()},
        "bad": {name: body.hex() for name, body in bad.items()},
    }


def vectors() -> dict[str, object]:
    """Every file's content by its name."""
    return {
        "classes.json": class_vectors(),
        "hashing.json": hashing_vectors(),
        "reports.json": report_vectors(),
        "uploads.json": upload_vectors(),
    }


if __name__ == "__main__":
    for name, content in vectors().items():
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")
