"""Model files, good and bad."""

import math
import zlib
from itertools import product

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.letters import END, LetterCode, Model, shipped_model
from deniable_shared.letters.lengths import optimal_lengths
from deniable_shared.letters.machine import CodeTable
from deniable_shared.letters.model import MAGIC
from deniable_shared.letters.writing import model_file

FLAT = optimal_lengths([1] * 257)
AFTER_A = optimal_lengths([1] * 256 + [1000])


def small_model():
    """Two states: after an "a", a string is likely to end."""
    return model_file([1, 1], {(1, ord("a")): 0}, [AFTER_A, FLAT])


def test_the_state_after_a_byte_is_the_edges_or_the_fallbacks():
    model = Model(small_model())
    assert model.states == 2
    assert [model.next_state(state, ord("a")) for state in (0, 1)] == [0, 0]
    assert [model.next_state(state, ord("b")) for state in (0, 1)] == [1, 1]
    assert model.next_states(0)[ord("a")] == 0
    assert (model.lengths(0), model.lengths(1)) == (AFTER_A, FLAT)


def test_likely_symbols_have_short_code_words():
    code = LetterCode("text", 10, Model(small_model()))
    assert code.encode(b"a")[1] < code.encode(b"b")[1]
    assert code.decode(*code.encode(b"a")) == (b"a", True)


def test_code_words_are_canonical():
    lengths = bytes([2, 1, 3, 3])
    assert [CodeTable(lengths).word(symbol)[1] for symbol in range(4)] == [0b10, 0b0, 0b110, 0b111]


def test_lengths_are_the_best_there_are():
    weights = [9, 1, 4, 3]
    best = min(
        sum(weight * length for weight, length in zip(weights, lengths, strict=True))
        for lengths in product(range(1, 5), repeat=4)
        if sum(2.0**-length for length in lengths) <= 1
    )
    found = optimal_lengths(weights)
    assert sum(w * length for w, length in zip(weights, found, strict=True)) == best


def test_lengths_have_a_limit():
    lengths = optimal_lengths([2**place for place in range(40)])
    assert max(lengths) == 15
    assert math.fsum(2.0**-length for length in lengths) == 1


def test_symbols_that_cannot_follow_have_no_code():
    assert optimal_lengths([0, 5, 0, 5]) == bytes([0, 1, 0, 1])
    assert optimal_lengths([0] * 65 + [7] + [0] * 191)[65] == 1
    assert optimal_lengths([0] * END + [7]) == bytes(257)


def test_models_are_equal_if_their_files_are():
    assert Model(small_model()) == Model(small_model()) != shipped_model()
    assert hash(Model(small_model())) == hash(Model(small_model()))
    assert "2 states" in repr(Model(small_model()))


def test_the_shipped_model_is_small():
    model = shipped_model()
    assert len(model.body) <= 15_000
    assert model.states <= 1_024


def test_the_shipped_model_stays_what_it_is():
    """`python -m tools.letters --check` rebuilds it. A change takes a new number of the code."""
    model = shipped_model()
    assert model.digest.hex() == (
        "661aab446664cc173945e190ffbe8793571e7bef503f6b796718e0d34bbb05e2"
    )


def packed(payload):
    return MAGIC + zlib.compress(payload)


GOOD = zlib.decompress(small_model()[4:])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"DLM1",
        b"DLM0" + small_model()[4:],
        small_model()[:-1],
        small_model() + b"x",
        packed(b""),
        packed(GOOD[:-1]),
        packed(GOOD + b"\x00"),
        packed(bytes(100_000_000)),
        packed(b"\x00\x00" + GOOD[2:]),
        packed(GOOD[:6] + b"\x00\x00" + GOOD[8:]),
        packed(GOOD[:10] + b"\x00\x09" + GOOD[12:]),
        packed(GOOD[:17] + b"\x00\x09" + GOOD[19:]),
        packed(GOOD[:-1] + b"\x01"),
        packed(GOOD[:-1] + b"\x10"),
    ],
)
def test_what_is_no_model_file_is_refused(body):
    with pytest.raises(ParameterError, match="model must be"):
        Model(body)
