"""Bodies that somebody made up: each is an upload or refused, and cheap either way.

Memory is what Python's allocators were asked for beyond the body itself, at its peak. A body cannot
take more than four times its size plus what a thousand nested arrays of 1,024 items take before the
first of them is seen to be cut off; parts of a few bytes take up to 16 times theirs, as objects.
"""

from __future__ import annotations

import json
import tracemalloc

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_shared import wire
from deniable_shared.errors import WireError
from tests.shared.test_wire import uploads
from tests.vectors import bodies

SHARE = 4
PARTS_SHARE = 16
NESTED_BYTES = 12 << 20
EXAMPLES = settings(max_examples=200)

STORED = json.loads(bodies.FILE.read_text(encoding="utf-8"))

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.binary(max_size=40),
        st.text(max_size=20),
        st.sampled_from(["v", "id", "reports", "pad", 1, bytes(16), bytes(32), 20_000]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(st.sampled_from(["v", "id", "reports", "pad", "x"]), inner, max_size=6),
    ),
    max_leaves=20,
)
alike = st.fixed_dictionaries(
    {
        "v": st.one_of(st.just(1), anything),
        "id": st.one_of(st.binary(min_size=16, max_size=16), anything),
        "reports": st.lists(
            st.tuples(
                st.one_of(st.binary(min_size=32, max_size=32), anything),
                st.one_of(st.integers(0, wire.MAX_EPOCH), anything),
                st.one_of(st.binary(min_size=1, max_size=9), anything),
            ),
            max_size=4,
        ),
        "pad": st.one_of(st.integers(0, 300).map(bytes), anything),
    }
)


def check(body):
    """What a body is; anything but an upload or a refusal fails the test."""
    try:
        upload = wire.decode(body)
    except WireError:
        return
    assert len(upload.id) == wire.ID_BYTES
    assert 1 <= len(upload.parts) <= wire.MAX_PARTS
    assert all(len(part.digest) == wire.DIGEST_BYTES and part.payload for part in upload.parts)
    assert wire.decode(wire.encode(upload)) == upload


@EXAMPLES
@given(st.binary(max_size=2_000))
def test_random_bytes(body):
    check(body)


@EXAMPLES
@given(st.one_of(anything, alike))
def test_whatever_msgpack_can_say(message):
    check(msgpack.packb(message))


@EXAMPLES
@given(uploads, st.data())
def test_an_upload_that_was_damaged(upload, data):
    body = bytearray(wire.encode(upload)[:400])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        how = data.draw(st.sampled_from(["change", "insert", "remove", "repeat", "cut"]))
        if how == "change" and place < len(body):
            body[place] = data.draw(st.integers(0, 255))
        elif how == "insert":
            body[place:place] = data.draw(st.binary(min_size=1, max_size=9))
        elif how == "remove":
            del body[place : place + data.draw(st.integers(1, 9))]
        elif how == "repeat":
            body[place:place] = body[place : place + data.draw(st.integers(1, 40))]
        else:
            del body[place:]
    check(bytes(body))


def test_the_corpus_is_the_one_that_is_written():
    assert {name: bodies.body(parts) for name, parts in STORED.items()} == {
        name: bodies.body(parts) for name, parts in bodies.BODIES.items()
    }


@pytest.mark.parametrize("name", STORED)
def test_a_body_of_the_corpus_is_refused_in_little_memory(name):
    body = bodies.body(STORED[name])
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            wire.decode(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= SHARE * len(body) + NESTED_BYTES


def test_the_largest_number_of_parts_is_taken_in_little_memory():
    part = wire.Part(bytes(32), 20_000, b"\x01")
    body = wire.encode(wire.Upload(bytes(16), (part,) * wire.MAX_PARTS))
    tracemalloc.start()
    try:
        assert len(wire.decode(body).parts) == wire.MAX_PARTS
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= PARTS_SHARE * len(body)
