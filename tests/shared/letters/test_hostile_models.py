"""What a broken or hostile model file can do to a device: be refused, or waste bits."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from fractions import Fraction

import pytest

from deniable.randomizers import randomizer_for
from deniable_shared.errors import ParameterError
from deniable_shared.letters import LetterCode, Model, shipped_model
from deniable_shared.letters.model import MAGIC, MAX_STATES
from deniable_shared.letters.writing import model_file
from deniable_shared.mechanisms.trie import DEEPER_BITS, FIRST_BITS
from tests.privacy.conformance import seeded
from tests.privacy.specs import discovered

FILES = 400
VALUES = (b"", b"a", b"\xff\x00\x80", "Zürich 天気".encode(), b"x" * 4_096)


def payload(draw):
    """Numbers that fit the format's frame, and often its rules."""
    states, tables, edges = draw.randint(1, 9), draw.randint(1, 5), draw.randint(0, 20)
    last = states - 1
    fallbacks = [draw.randint(state + 1, last) for state in range(last)] + [last]
    lengths = [
        bytes(draw.choices([0, 0, 9, 10, 15] if draw.random() < 0.9 else range(18), k=257))
        for _ in range(tables)
    ]
    numbers = [
        *fallbacks,
        *(draw.randrange(tables) for _ in range(states)),
        *(draw.randrange(states) for _ in range(edges)),
    ]
    made = struct.pack(f">3H{2 * states + edges}H", states, tables, edges, *numbers)
    made += bytes(draw.randrange(256) for _ in range(edges))
    made += struct.pack(f">{edges}H", *(draw.randrange(states) for _ in range(edges)))
    made += b"".join(lengths)
    if draw.random() < 0.5:  # one number is another
        place = draw.randrange(len(made))
        made = made[:place] + bytes([draw.randrange(256)]) + made[place + 1 :]
    return made


def test_any_file_is_refused_or_gives_every_string_its_pieces():
    """Both happen often. A string whose letters have no code is another's, and no more."""
    draw, taken = random.Random(5), 0
    for _ in range(FILES):
        try:
            model = Model(MAGIC + zlib.compress(payload(draw)))
        except ParameterError:
            continue
        taken += 1
        code = LetterCode("text", 10, model)
        for value in VALUES:
            first, *deeper = code.pieces(value)
            assert 0 <= first < 1 << FIRST_BITS
            assert len(deeper) < code.levels
            assert all(0 <= piece < 1 << DEEPER_BITS for piece in deeper)
    assert FILES // 4 < taken < FILES * 3 // 4


def test_a_damaged_file_is_refused_unless_it_says_the_same():
    """The checksum inside finds all damage but that of bits that stand for nothing."""
    draw, shipped, refused = random.Random(6), shipped_model(), 0
    for _ in range(FILES):
        broken = bytearray(shipped.body)
        for _ in range(draw.choice([1, 1, 10])):
            broken[draw.randrange(len(broken))] ^= 1 << draw.randrange(8)
        try:
            model = Model(bytes(broken))
        except ParameterError:
            refused += 1
            continue
        states = range(shipped.states)
        assert [model.lengths(each) for each in states] == [*map(shipped.lengths, states)]
    assert refused > FILES * 0.98


def test_a_file_that_unpacks_to_gigabytes_is_refused_in_little_memory():
    bomb = MAGIC + zlib.compress(bytes(1 << 25))
    tracemalloc.start()
    with pytest.raises(ParameterError, match=r"^model must be a"):
        Model(bomb)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_model_without_any_code_words_makes_all_strings_one_and_reports_as_ever():
    states = [*range(1, MAX_STATES), MAX_STATES - 1]  # every state falls back to the next
    model = Model(model_file(states, {}, [bytes(257)] * MAX_STATES))
    spec = discovered(LetterCode("text", 10, model), Fraction(4))
    randomizer = randomizer_for(spec, seeded("nothing"))
    for text in ("", "secret", "x" * 4_096):
        assert spec.encode(text) == (0,)
        assert len(randomizer.report(spec.encode(text), b"")) == 5
