"""The shipped hash family passes the pair test, and the pair test rejects bad families.

For every fixed pair of values, the share of members j that send both to one bucket must be
1/buckets. Families whose collisions do not depend on the seed fail it: they bias an estimate for
good, however many devices report.
"""

from __future__ import annotations

import math
import unicodedata
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared import hashing

MEMBERS = 4_096
LIMIT = 5.0
"""Standard deviations that a pair's collisions may be off. All is fixed, so it never flakes."""

BUCKETS = [2, 4, 8, 21, 1024]

PAIRS = [
    ("", "a"),
    ("a", "b"),
    ("dark", "light"),
    ("item1", "item2"),
    ("item1", "item11"),
    ("google.com", "google.con"),
    ("google.com", "Google.com"),
    ("google.com", "google.com "),
    ("Chrome 151", "Chrome 150"),
    ("ab", "ba"),
    ("0", "\x00"),
    ("\x00", "\x00\x00"),
    ("x" * 1_000, "x" * 999 + "y"),
    ("x" * 1_000, "y" + "x" * 999),
    ("😀", "😁"),
    ("naïve", "naive"),
]
"""Near-identical strings above all."""

SALT = 0xEA9E1413
WORD = 0xAA2442242D786010
FIRST_KEY = 0x9CA066F1A4AB2EEA
FOUR_BUCKETS = [628, 566, 36, 218]

KEYS = [hashing.key(member) for member in range(MEMBERS)]


def shipped(value, member, buckets):
    return hashing.bucket(hashing.word(hashing.canonical(value), SALT), KEYS[member], buckets)


def crc(value, member, buckets):
    return zlib.crc32(member.to_bytes(4, "big") + value.encode()) % buckets


def fnv(value, member, buckets):
    state = 0xCBF29CE484222325 ^ member
    for byte in value.encode():
        state = (state ^ byte) * 0x100000001B3 & hashing.MASK_64
    return state % buckets


def linear(value, member, buckets):
    word = int.from_bytes(value.encode(), "big") + len(value)
    return (member + word * hashing.GOLDEN_GAMMA) % buckets


def collisions(family, pair, buckets):
    one, other = pair
    return sum(
        family(one, member, buckets) == family(other, member, buckets) for member in range(MEMBERS)
    )


def deviation(found, trials, buckets):
    """How many standard deviations a number of collisions is from trials / buckets."""
    expected = trials / buckets
    return (found - expected) / math.sqrt(expected * (1 - 1 / buckets))


def worst(family, pairs, buckets):
    """The pair test: the largest deviation, over the pairs alone and all of them together."""
    found = [collisions(family, pair, buckets) for pair in pairs]
    single = max(abs(deviation(count, MEMBERS, buckets)) for count in found)
    return max(single, abs(deviation(sum(found), MEMBERS * len(pairs), buckets)))


@pytest.mark.parametrize("buckets", BUCKETS)
def test_any_two_values_collide_in_one_of_buckets_members(buckets):
    assert worst(shipped, PAIRS, buckets) < LIMIT


@pytest.mark.parametrize("family", [crc, fnv, linear])
@pytest.mark.parametrize("buckets", [2, 4, 8])
def test_the_pair_test_rejects_families_whose_collisions_ignore_the_seed(family, buckets):
    assert worst(family, PAIRS[:8], buckets) > 10 * LIMIT


@pytest.mark.parametrize("buckets", BUCKETS)
def test_words_that_differ_in_a_single_bit_collide_no_more_than_others(buckets):
    word = hashing.word(b"dark", seed=7)
    for bit in range(64):
        same = sum(
            hashing.bucket(word, key, buckets) == hashing.bucket(word ^ 1 << bit, key, buckets)
            for key in KEYS
        )
        assert abs(deviation(same, MEMBERS, buckets)) < LIMIT


@pytest.mark.parametrize("buckets", [2, 21, 1024])
def test_a_member_spreads_values_evenly(buckets):
    values = 200 * buckets if buckets < 1024 else 20 * buckets
    counts = [0] * buckets
    for index in range(values):
        counts[hashing.bucket(hashing.word(b"item%d" % index, 7), KEYS[3], buckets)] += 1
    expected = values / buckets
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    assert abs(statistic - (buckets - 1)) < LIMIT * math.sqrt(2 * (buckets - 1))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 2**32))
def test_a_bucket_is_in_range(word, key, buckets):
    assert 0 <= hashing.bucket(word, key, buckets) < buckets


@given(st.integers(0, 2**64 - 1))
def test_mixing_loses_nothing(state):
    inverse_1 = pow(hashing.MIX_1, -1, 1 << 64)
    inverse_2 = pow(hashing.MIX_2, -1, 1 << 64)
    mixed = hashing.mix(state)
    undone = (mixed ^ mixed >> 33) * inverse_2 & hashing.MASK_64
    undone = (undone ^ undone >> 33) * inverse_1 & hashing.MASK_64
    assert undone ^ undone >> 33 == state


def test_members_have_different_keys():
    assert len({hashing.key(member) for member in range(100_000)}) == 100_000


def test_the_published_values_never_change():
    """A change here breaks every sketch that was ever collected."""
    assert hashing.salt("flightdeck", "theme") == SALT
    assert hashing.word(b"dark", SALT) == WORD
    assert hashing.key(0) == FIRST_KEY
    assert [hashing.bucket(WORD, hashing.key(j), 1024) for j in range(4)] == FOUR_BUCKETS


def test_the_finaliser_and_the_hash_are_those_of_murmur_3():
    assert hashing.word(b"", 0) == 0
    assert hashing.word(b"The quick brown fox jumps over the lazy dog", 0) == 0xE34BBC7BBC071B6C
    assert hashing.mix(0) == 0
    assert hashing.mix(1) == 0xB456BCFC34C2CB2C


def test_metrics_and_applications_have_their_own_salt():
    salts = {
        hashing.salt(application, metric)
        for application in ("a", "b", "ab")
        for metric in ("a", "b", "c")
    }
    assert len(salts) == 9
    assert all(0 <= salt < 2**32 for salt in salts)


@given(st.text())
def test_equivalent_spellings_are_one_value(text):
    spellings = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert {hashing.canonical(spelling) for spelling in spellings} == {hashing.canonical(text)}


@given(st.text() | st.text("aeoαωΐᾂ\u0301\u0308\u0323\u0345"))
def test_every_spelling_of_a_text_is_recognised_by_its_length(text):
    composed = hashing.normalize(text)
    assert hashing.normalize_if_short(text, len(composed)) == composed


def test_no_character_is_spelled_in_more_than_four():
    assert hashing.normalize_if_short(unicodedata.normalize("NFD", "ᾂ"), 1) == "ᾂ"
    assert hashing.normalize_if_short("ᾂ" + "\u0323" * 4, 1) is None


def test_compatible_but_different_characters_stay_different():
    assert hashing.canonical("ﬁ") != hashing.canonical("fi")
    assert hashing.canonical("A") != hashing.canonical("a")


def test_a_lone_surrogate_counts_as_a_question_mark():
    assert hashing.canonical("\ud800") == b"?"
