"""The audit of the primitive draws, with the very arguments that the metrics call them with.

Everything else takes for granted that `bernoulli(w)` is true with probability w / 2^32, and so on.
Here that is derived from uniform bytes, over the code that is installed.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

from deniable import _randomness
from deniable._audit.failure import PRIMITIVE_DRAWS, AuditFailure
from deniable._audit.primitives.bytes_of_bits import check_bits
from deniable._audit.primitives.noise import (
    MOST_PLACES,
    TAIL_SCALES,
    LaplaceOverDecay,
    check_gaussian,
    check_laplace,
)
from deniable._audit.primitives.words import Spread, Word, WordWalk
from deniable._audit.walk import follow_all
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deniable._audit.laws.draws import Draw


SECRET_BYTES: Final = 32

HOW: Final = {
    "word": (
        "Four bytes of the stream, each used once; the default stream is os.urandom, and nothing "
        "stands for bytes that it refuses."
    ),
    "bernoulli": "Followed over all words, for each weight.",
    "uniform_below": (
        f"Followed over all words, for each bound, through {WordWalk.least_bits} bits of "
        "rejections."
    ),
    "one_of": "Followed over all words, for each pair of weights.",
    "weighted_place": "Followed over all words, for each row of weights.",
    "bits": (
        "The law of two bits over all bytes, for each weight; that a row is drawn pair by pair, "
        "each from bytes of its own, was compared on streams of bytes."
    ),
    "laplace": (
        f"Followed to 2^-{LaplaceOverDecay.least_bits}, at places up to {TAIL_SCALES} scales, over "
        "draws that were followed by themselves."
    ),
    "gaussian": (
        f"Its acceptance was followed at {MOST_PLACES} places, over draws followed by themselves."
    ),
    "keyed": "Compared with SHAKE-256 of the secret, a counter and the label.",
}


def audit_primitives(draws: Iterable[Draw]) -> tuple[dict[str, Any], ...]:
    """Audits every primitive that was called.

    Args:
        draws: the calls.

    Returns:
        For each primitive its name, with how many different arguments it was called, and how it
        was audited.

    Raises:
        AuditFailure: if a draw does not have its probabilities, or is none of those in `HOW`.
    """
    called: dict[str, set[tuple[int, ...]]] = {"word": {()}, "keyed": {()}}
    for draw in draws:
        called.setdefault(draw.primitive, set()).add(draw.arguments)
    for primitive, cases in called.items():
        check = _CHECKS.get(primitive)
        if check is None:
            raise AuditFailure(f"{primitive} is drawn, which is not audited", PRIMITIVE_DRAWS)
        for arguments in sorted(cases):
            try:
                check(*arguments)
            except AuditFailure as failure:
                said = f"{primitive}{arguments or ''}: {failure.reason}"
                raise AuditFailure(said, PRIMITIVE_DRAWS) from failure
            except Exception as error:
                said = f"{primitive}{arguments or ''} cannot be followed: {error!r}"
                raise AuditFailure(said, PRIMITIVE_DRAWS) from error
    return tuple(
        {"primitive": primitive, "arguments": len(cases), "how": HOW[primitive]}
        for primitive, cases in sorted(called.items())
    )


def _law(run: Callable[[WordWalk], Any]) -> dict[Any, Fraction]:
    """The law of what is drawn from words; but for what is left after rejections without end."""

    def outcome(walk: WordWalk) -> Any:
        drawn = run(walk)
        if isinstance(drawn, Word):
            raise AuditFailure("a primitive returns a word")
        return drawn.outcome() if isinstance(drawn, Spread) else drawn

    exact, lost = follow_all(cast("Any", outcome), WordWalk)
    if lost >= Fraction(1, 1 << WordWalk.least_bits - 1):
        raise AuditFailure("too many draws are rejected")
    return {key: chance / (1 - lost) for key, chance in exact.items()}


def _require(law: dict[Any, Fraction], claimed: dict[Any, Fraction]) -> None:
    if law != {key: chance for key, chance in claimed.items() if chance}:
        raise AuditFailure("it does not have its probabilities")


def _check_bernoulli(weight: int) -> None:
    law = _law(lambda walk: _randomness.Randomness.bernoulli(walk, weight))  # type: ignore[arg-type]
    one = Fraction(weight, SCALE)
    _require(law, {True: one, False: 1 - one})


def _check_uniform_below(bound: int) -> None:
    law = _law(lambda walk: _randomness.Randomness.uniform_below(walk, bound))  # type: ignore[arg-type]
    _require(law, {(0, bound, Fraction(1, bound)): Fraction(1)})


def _check_one_of(own: int, other: int) -> None:
    law = _law(lambda walk: _randomness.Randomness.one_of(walk, own, other))  # type: ignore[arg-type]
    one, others = Fraction(own, SCALE), (SCALE - own) // other
    _require(law, {0: one, (1, others, Fraction(1, others)): 1 - one})


def _check_weighted_place(*weights: int) -> None:
    law = _law(lambda walk: _randomness.Randomness.weighted_place(walk, *weights))  # type: ignore[arg-type]
    _require(law, {place: Fraction(weight, SCALE) for place, weight in enumerate(weights)})


def _check_word() -> None:
    """Bytes are given out once and in order, four for a word, and all are the system's."""
    default = inspect.signature(_randomness.Randomness).parameters["source"].default
    if default is not os.urandom:
        raise AuditFailure("the default source of bytes is not os.urandom")
    made = bytearray()

    def source(count: int) -> bytes:
        block = hashlib.shake_256(len(made).to_bytes(8, "big")).digest(count)
        made.extend(block)
        return block

    stream, end = _randomness.Randomness(source, 64), 0
    for count in (1, 3, 60, 4, 5, 200, 64, 1, 63, 2, 7):
        before = len(made)
        start = before if end + count > before else end
        if stream.take(count) != bytes(made[start : start + count]):
            raise AuditFailure("bytes are not given out once each and in order")
        end = start + count
    try:
        _randomness.Randomness(_refuse).word()
    except OSError:
        pass
    else:
        raise AuditFailure("a word was drawn although the system refused random bytes")
    for place in range(4):
        for byte in range(256):
            data = bytes(byte if index == place else 0x5A for index in range(4))
            if _randomness.Randomness(lambda _, data=data: data, 4).word() != int.from_bytes(data):  # type: ignore[misc]
                raise AuditFailure("a word is not four bytes, the first one highest")


def _refuse(count: int) -> bytes:
    raise OSError(f"no {count} bytes")


def _check_keyed() -> None:
    """Every byte of the secret and of a label counts, whatever its length and value."""
    for length, size in ((4, 1), (48, 40), (600, 10_000)):
        secret, label = _example("secret", SECRET_BYTES), _example("label", size)
        _check_stream(secret, label, length, 300)
    for number in range(256):  # at every place of secret and label every byte
        secret, label = (
            bytes((number + 37 * place) % 256 for place in range(size)) for size in (32, 50)
        )
        _check_stream(secret, label, 40, 3)
        _check_stream(bytes([number]) * SECRET_BYTES, b"\x00" + label[::-1], 40, 3)


def _check_stream(secret: bytes, label: bytes, length: int, blocks: int) -> None:
    stream = _randomness.keyed_randomness(secret, label, length)
    for number in range(1, blocks + 1):
        block = hashlib.shake_256(secret + number.to_bytes(4, "big") + label).digest(length)
        if stream.take(length) != block:
            raise AuditFailure("kept choices are not drawn from SHAKE-256 of secret and label")


def _example(what: str, size: int) -> bytes:
    return hashlib.shake_256(what.encode()).digest(size)


_CHECKS: Final[dict[str, Callable[..., None]]] = {
    "word": _check_word,
    "bernoulli": _check_bernoulli,
    "uniform_below": _check_uniform_below,
    "one_of": _check_one_of,
    "weighted_place": _check_weighted_place,
    "bits": check_bits,
    "laplace": check_laplace,
    "gaussian": check_gaussian,
    "keyed": _check_keyed,
}
