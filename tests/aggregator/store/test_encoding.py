"""What is stored of a slice is small, and comes back as it was."""

from __future__ import annotations

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.keeping.store.encoding import (
    add_counters,
    count_cells,
    decode_many,
    encode_counters,
    encode_reports,
    holds_reports,
    join_reports,
    unpack_reports,
)

DRAWN = np.random.default_rng(1)
COUNTERS = {
    "one report": np.array([0, 1, 0]),
    "a category": DRAWN.integers(50_000, 90_000, 17),
    "nothing": np.zeros(300, np.int64),
    "negative": DRAWN.integers(-5, 7, 1_000),
    "wide": DRAWN.integers(-(2**62), 2**62, 100),
    "nearly empty": (DRAWN.random(100_000) < 1e-3).astype(np.int64) * 3,
    "sparse": DRAWN.poisson(0.1, 50_000),
    "Poisson": DRAWN.poisson(2.9, 50_000),
    "normal": DRAWN.normal(5_000, 60, 50_000).astype(np.int64),
}


def decoded(body, cells):
    total = np.zeros(cells, np.int64)
    add_counters(total, body)
    return total


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_come_back(name):
    counters = COUNTERS[name]
    for first in (counters.size, counters.size // 2):
        body = encode_counters(counters, first)
        assert not holds_reports(body)
        assert count_cells(body) == counters.size
        assert (decoded(body, counters.size) == counters).all()


@given(
    st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=80), max_size=8),
    st.integers(1, 80),
)
def test_counters_of_many_slices_are_decoded_at_once(slices, cells):
    bodies = [encode_counters(np.array(each or [1], np.int64), 1) for each in slices]
    expected = [((each or [1])[:cells] + [0] * cells)[:cells] for each in slices]
    assert decode_many(bodies, cells).tolist() == expected


@pytest.mark.parametrize("name", COUNTERS)
def test_many_counters_of_many_slices_are_decoded_at_once(name):
    """Some alike and some not, in two sections; more cells are wanted than there are, or fewer."""
    some = COUNTERS[name][:3_000]
    slices = [some, some[::-1], some // 2, some // 200, np.zeros_like(some)]
    bodies = [encode_counters(each, each.size // 3) for each in slices]
    for cells in (some.size + 2, max(some.size // 3 - 1, 1), some.size):
        found = decode_many(bodies, cells)
        kept = min(cells, some.size)
        assert (found[:, :kept] == np.array(slices)[:, :kept]).all()
        assert not found[:, kept:].any()


@given(st.integers(1, 20), st.binary(max_size=2_000))
def test_reports_come_back_sorted(width, payload):
    payload = payload[: len(payload) // width * width]
    reports = sorted(payload[at : at + width] for at in range(0, len(payload), width))
    packed = join_reports([payload], width)
    assert packed == b"".join(reports)
    body = encode_reports(packed, width)
    assert holds_reports(body)
    assert unpack_reports(body) == packed


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 9, 16, 300])
def test_many_reports_come_back_whatever_their_width(width):
    payload = DRAWN.bytes(width * 1_000)
    packed = join_reports([payload[: 600 * width], payload[600 * width :]], width)
    assert packed == join_reports([payload], width)
    assert unpack_reports(encode_reports(packed, width)) == packed


def test_nothing_tells_in_which_order_reports_came():
    one, other = b"\x01\x02\x03", b"\x00\x09\x01"
    assert join_reports([one, other], 3) == join_reports([other, one], 3)


def bits_of(counts):
    """The entropy of independent counts, in bytes."""
    shares = np.bincount(counts - counts.min()) / counts.size
    return float(-(shares[shares > 0] * np.log2(shares[shares > 0])).sum() * counts.size / 8)


@pytest.mark.parametrize("name", ["sparse", "Poisson", "normal"])
def test_counters_of_noise_take_little_more_than_their_entropy(name):
    counters = COUNTERS[name]
    assert len(encode_counters(counters, counters.size)) < 1.15 * bits_of(counters) + 40


def test_few_reports_of_a_wide_tally_take_less_than_they_came_in():
    cells, reports = 2_656_864, 10_000
    numbers = np.sort(DRAWN.integers(0, cells, reports)).astype(">u4")
    body = encode_reports(numbers.tobytes(), 4)
    entropy = reports * np.log2(cells * np.e / reports) / 8
    assert len(body) < 1.25 * entropy < numbers.nbytes / 2


def test_a_nearly_empty_tally_of_two_million_counters_takes_hardly_anything():
    counters = np.zeros(2_000_000, np.int8)
    counters[DRAWN.integers(0, counters.size, 50)] = 1
    assert len(encode_counters(counters, counters.size)) < 250


@pytest.mark.parametrize("body", [b"\x00\x01", b"\x10\x91", b"\x10junk", b"\x7f", b"\x11\x01"])
def test_damaged_counters_are_told(body):
    with pytest.raises(ValueError, match="part"):
        decoded(body, 3)
    with pytest.raises(ValueError, match="part"):
        decode_many([body], 3)


def test_a_section_that_is_too_short_is_not_read_together_with_one_that_is_too_long():
    sections = (msgpack.packb([(10, 0, 1, 0, bytes(length))]) for length in (9, 11))
    with pytest.raises(ValueError, match="must have 10 bytes, got 9"):
        decode_many([b"\x10" + section for section in sections], 10)


@pytest.mark.parametrize("body", [b"\x81\x04junk", b"\x84\x04", b"\x82\x04\x00"])
def test_damaged_reports_are_told(body):
    with pytest.raises(ValueError, match="part"):
        unpack_reports(body)
