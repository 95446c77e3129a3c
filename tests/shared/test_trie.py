"""Where strings are in the levels of a trie, and which spaces their cells are in."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from deniable_shared import mechanism_choice
from deniable_shared.errors import ParameterError
from deniable_shared.letters.levels import falling_shares
from deniable_shared.mechanism_choice import least_error_of_rare_item
from deniable_shared.mechanisms import Trie, mechanism_from_description

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
TRIE = Trie.for_epsilon(4, Fraction(4))


def mixed(state):
    """MurmurHash3's finaliser, once more."""
    state = (state ^ state >> 33) * 0xFF51AFD7ED558CCD & MASK
    state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return state ^ state >> 33


def hashed(pieces, level, row, salt, size):
    """A row's hash of some pieces, from the definition."""
    state = salt
    for piece in pieces:
        state = mixed(state ^ (piece + 1) * GOLDEN & MASK)
    member = mixed((65_536 * level + row + 1) * GOLDEN & MASK)
    return (mixed(state ^ member) >> 32) * size >> 32


@pytest.mark.parametrize(
    ("epsilon", "first", "deeper"),
    [
        ("0.01", (2, 21), (2, 17)),
        ("0.5", (3, 14), (3, 11)),
        ("1", (3, 14), (3, 11)),
        ("2", (11, 7), (7, 7)),
        ("3", (17, 6), (19, 5)),
        ("4", (37, 5), (53, 4)),
        ("5", (107, 4), (257, 3)),
        ("6", (1_031, 3), (401, 3)),
        ("8", (1_783, 3), (509, 3)),
    ],
)
def test_the_spaces_of_an_epsilon_never_change(epsilon, first, deeper):
    """They are part of a digest: other ones would be another metric."""
    trie = Trie.for_epsilon(4, Fraction(epsilon))
    assert (trie.first.q, trie.first.t) == first
    assert (trie.deeper.q, trie.deeper.t) == deeper
    assert trie.epsilon <= float(epsilon)
    assert trie.report_bytes == 5


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "4"])
def test_the_noise_of_a_level_is_within_five_percent_of_the_least(epsilon):
    trie = Trie.for_epsilon(4, Fraction(epsilon))
    for level in range(4):
        noise = trie.support(level).variance(0.0, 1)
        assert noise <= 1.05 * least_error_of_rare_item(float(epsilon))


def test_in_the_first_level_the_cell_is_the_first_piece():
    assert TRIE.cell((77,), 0, 0, 5) == TRIE.cell((77, 1, 2), 0, 0, 5) == 77


def test_a_piece_shifts_the_hash_of_the_pieces_before_it():
    size, pieces = TRIE.deeper.size, (77, 65_535, 3)
    for row in range(TRIE.rows):
        for level in (1, 2):
            start = hashed(pieces[:level], level, row, 5, size)
            assert TRIE.cell(pieces, level, row, 5) == (start + pieces[level]) % size


def test_a_string_that_has_ended_has_a_cell_of_its_own_in_all_deeper_levels():
    for row in range(TRIE.rows):
        for level in (2, 3):
            cell = hashed((77, 9), level, row, 5, TRIE.deeper.size)
            assert TRIE.cell((77, 9), level, row, 5) == cell


def test_continuations_of_one_beginning_never_share_a_cell():
    for row in range(TRIE.rows):
        cells = {TRIE.cell((77, piece), 1, row, 5) for piece in range(0, 65_536, 13)}
        assert len(cells) == len(range(0, 65_536, 13))


def test_two_strings_share_a_cell_as_rarely_as_by_chance():
    """3,000 pairs in 16 rows: the number of collisions is within five standard deviations."""
    trie = Trie.for_epsilon(3, Fraction(1), first_bits=12, deeper_bits=5, rows=16)
    size, shared = trie.deeper.size, Counter()
    for number in range(3_000):
        one, other = (number, 1, 2), (number + 1, 3, 2)
        for row in range(trie.rows):
            shared[row] += trie.cell(one, 2, row, 5) == trie.cell(other, 2, row, 5)
    expected = 3_000 * trie.rows / size
    assert abs(shared.total() - expected) < 5 * expected**0.5


def test_the_last_level_is_drawn_twice_as_often():
    assert TRIE.level_shares == (Fraction(1, 5), Fraction(1, 5), Fraction(1, 5), Fraction(2, 5))
    assert Trie.for_epsilon(1, Fraction(4)).level_shares == (1,)


def test_shares_of_levels_are_a_part_of_the_mechanism_and_of_its_noise():
    shares = (1 << 31, 1 << 30, 1 << 29, 1 << 29)
    trie = Trie.for_epsilon(4, Fraction(4), shares=shares)
    assert trie.level_shares == (*(Fraction(1, 2**n) for n in (1, 2, 3, 3)),)
    assert mechanism_from_description(json.loads(json.dumps(trie.description()))) == trie
    assert "shares" not in TRIE.description()
    assert trie.epsilon == TRIE.epsilon
    assert trie.report_bytes == TRIE.report_bytes
    alone = TRIE.support(3).variance(0.0, 1)
    assert trie.variance(0.0, 1) == pytest.approx(8 * alone)
    fewer = trie.at_epsilon(Fraction(2), mechanism_choice)
    assert fewer.shares == shares


def test_shares_that_are_none_are_refused():
    quarters = (1 << 30,) * 4
    for shares in ((1 << 32,), (1 << 31, 1 << 31, 0, 0), (1,) * 4, [*quarters], (2.0**30,) * 4):
        with pytest.raises(ParameterError, match=r"^trie shares must be"):
            Trie.for_epsilon(4, Fraction(4), shares=shares)


def test_levels_in_which_few_strings_end_are_drawn_seldom():
    shares = [share / 2**32 for share in falling_shares(6, 2)]
    assert shares[0] == shares[1] == shares[2]
    assert [after / before for before, after in pairwise(shares[2:5])] == pytest.approx([0.7, 0.7])
    assert shares[5] / shares[4] == pytest.approx(0.7 / 0.3)
    for levels, half in ((1, 0), (24, 0), (24, 23), (3, 30)):
        integers = falling_shares(levels, half)
        assert sum(integers) == 1 << 32
        Trie.for_epsilon(levels, Fraction(4), shares=integers)


def test_a_string_is_estimated_the_better_the_earlier_it_ends():
    for share in (0.0, 0.01, 0.5):
        variances = [TRIE.variance_of(level, share, 10**6) for level in range(4)]
        assert variances == sorted(variances)
        assert TRIE.variance(share, 10**6) == variances[-1]
    alone = TRIE.support(3).variance(0.0, 1)
    assert TRIE.variance(0.0, 1) == pytest.approx(2.5 * alone)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("levels", [0, 25, 4.0, True, None]),
        ("rows", [0, 257, "16", None]),
        ("deeper_bits", [0, 18, 23, None]),
        ("first", [TRIE.deeper, None, 3]),
        ("deeper", [TRIE.first, replace(TRIE.deeper, size=65_536), None]),
    ],
)
def test_impossible_parameters_are_refused(field, values):
    for value in values:
        with pytest.raises(
            ParameterError, match=f"^trie {field if field != 'deeper_bits' else ''}"
        ):
            replace(TRIE, **{field: value})


@pytest.mark.parametrize(
    ("report", "what"),
    [
        ("0400000000", "level must be below 4, got 4"),
        ("0001000000", "row must be below 1 in level 0, got 1"),
        ("0110000000", "row must be below 16 in level 1, got 16"),
        ("00001d6455", "point must be below 1926221 in level 0, got 1926229"),
        ("03000250bc", "point must be below 151740 in level 3, got 151740"),
    ],
)
def test_a_report_that_no_device_sends_is_refused(report, what):
    with pytest.raises(ValueError, match=what):
        TRIE.decode(bytes.fromhex(report))
