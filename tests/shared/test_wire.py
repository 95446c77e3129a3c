"""The upload's bytes: one form, padded, and nothing malformed comes through."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_shared import wire
from deniable_shared.errors import TooManyPartsError, WireError
from deniable_shared.wire import Part, Upload

ID = bytes(range(16))
DIGEST = b"\xaa" * 32

parts = st.builds(
    Part,
    digest=st.binary(min_size=32, max_size=32),
    epoch=st.integers(0, wire.MAX_EPOCH),
    payload=st.binary(min_size=1, max_size=6_000),
)
uploads = st.builds(
    Upload,
    id=st.binary(min_size=16, max_size=16),
    parts=st.lists(parts, min_size=1, max_size=5).map(tuple),
)


def message(**changes) -> bytes:
    fields = {"v": 1, "id": ID, "reports": [[DIGEST, 20_000, b"\x01"]], "pad": b"\x00\x00"}
    return msgpack.packb({**fields, **changes})


@given(uploads)
def test_an_upload_comes_back_as_it_was_sent(upload):
    assert wire.decode(wire.encode(upload)) == upload


@given(uploads)
def test_the_same_upload_gives_the_same_bytes(upload):
    again = Upload(bytes(upload.id), tuple(Part(*part) for part in upload.parts))
    assert wire.encode(again) == wire.encode(upload)
    assert wire.encode(wire.decode(wire.encode(upload))) == wire.encode(upload)


@given(uploads)
def test_the_length_is_one_of_a_few(upload):
    size = len(wire.encode(upload))
    assert size in {256, 512, 1024, 2048} or size % 4096 == 0


def test_reports_of_different_mechanisms_have_the_same_length_on_the_wire():
    sizes = {
        len(wire.encode(Upload(ID, (Part(DIGEST, 20_000, bytes(n)),)))) for n in (1, 2, 18, 130)
    }
    assert sizes == {256}


@pytest.mark.parametrize("size", [256, 512, 1024, 2048, 4096, 8192, 65_536, 1_048_576])
def test_every_payload_up_to_a_size_is_padded_to_it_and_the_next_byte_jumps(size):
    def encoded(payload: int) -> int:
        return len(wire.encode(Upload(ID, (Part(DIGEST, 20_000, bytes(payload)),))))

    payload = size - 100
    while encoded(payload + 1) == size:
        payload += 1
    assert encoded(payload) == size
    assert encoded(payload + 1) == (size * 2 if size < 4096 else size + 4096)


def test_padding_is_zero_bytes():
    body = wire.encode(Upload(ID, (Part(DIGEST, 20_000, b"\x01"),)))
    assert set(msgpack.unpackb(body)["pad"]) == {0}


def test_an_upload_cut_at_any_byte_is_refused():
    body = wire.encode(Upload(ID, (Part(DIGEST, 20_000, b"\x01" * 40),)))
    for length in range(len(body)):
        with pytest.raises(WireError):
            wire.decode(body[:length])


def test_bytes_after_an_upload_are_refused():
    with pytest.raises(WireError):
        wire.decode(message() + b"\x00")


@given(st.binary(max_size=2_000))
def test_random_bytes_are_refused(body):
    with pytest.raises(WireError):
        wire.decode(body)


@given(st.data())
def test_a_changed_byte_is_refused_or_read_as_a_well_formed_upload(data):
    body = bytearray(message())
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        upload = wire.decode(bytes(body))
    except WireError:
        return
    assert wire.decode(wire.encode(upload)) == upload


@pytest.mark.parametrize(
    "body",
    [
        b"\x91" * 100_000,
        b"\x81\x01" * 50_000,
        b"\x84\xa2id" + b"\x91" * 100_000 + b"\x00",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        message(reports=[[DIGEST, 1, b"x"]] * 1_025),
        message(reports=[[DIGEST, 1, [[[[[b"x"]]]]]]]),
    ],
    ids=[
        "arrays in arrays",
        "maps in maps",
        "a bomb under a key",
        "an array of 2^32",
        "a map of 2^32",
        "4 GiB of bytes",
        "4 GiB of text",
        "1,025 parts",
        "a nested payload",
    ],
)
def test_a_bomb_is_refused(body):
    with pytest.raises(WireError):
        wire.decode(body)


def test_too_many_parts_are_told_from_damage():
    part = [DIGEST, 1, b"x"]
    assert len(wire.decode(message(reports=[part] * 1_024)).parts) == 1_024
    with pytest.raises(TooManyPartsError, match="at most 1,024 parts"):
        wire.decode(message(reports=[part] * 1_025))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (msgpack.packb(None), "body must be a map"),
        (msgpack.packb([1, ID]), "body must be a map"),
        (msgpack.packb({}), "body must be a map"),
        (msgpack.packb({"v": 1, "id": ID, "reports": [[DIGEST, 1, b"x"]]}), "body must be a map"),
        (msgpack.packb({1: 1, "id": ID, "reports": [], "pad": b""}), "body must be one msgpack"),
        (message(extra=1), "body must be"),
        (message(v=2), "v must be 1"),
        (message(v="1"), "v must be 1"),
        (message(v=True), "v must be 1"),
        (message(v=1.0), "v must be 1"),
        (message(id=ID[:15]), "id must be 16 bytes"),
        (message(id=ID + b"\x00"), "id must be 16 bytes"),
        (message(id="sixteen letters!"), "id must be 16 bytes"),
        (message(id=7), "id must be 16 bytes"),
        (message(pad="text"), "pad must be zero bytes"),
        (message(pad=None), "pad must be zero bytes"),
        (message(reports=[]), "reports must be a list of at least one"),
        (message(reports={}), "reports must be a list of at least one"),
        (message(reports=b"bytes"), "reports must be a list of at least one"),
        (message(reports=[[DIGEST, 1]]), r"reports\[0\] must be \[digest, epoch, payload\]"),
        (message(reports=[[DIGEST, 1, b"x", 2]]), r"reports\[0\] must be"),
        (message(reports=[{"digest": DIGEST}]), r"reports\[0\] must be"),
        (message(reports=[[DIGEST, 1, b"x"], 3]), r"reports\[1\] must be"),
        (message(reports=[[DIGEST[:31], 1, b"x"]]), r"reports\[0\] digest must be 32 bytes"),
        (message(reports=[["a" * 16, 1, b"x"]]), r"reports\[0\] digest must be 32 bytes"),
        (message(reports=[[DIGEST, -1, b"x"]]), r"reports\[0\] epoch must be an integer in"),
        (message(reports=[[DIGEST, 2**31, b"x"]]), r"reports\[0\] epoch must be an integer in"),
        (message(reports=[[DIGEST, 1.0, b"x"]]), r"reports\[0\] epoch must be an integer in"),
        (message(reports=[[DIGEST, True, b"x"]]), r"reports\[0\] epoch must be an integer in"),
        (message(reports=[[DIGEST, 1, b""]]), r"reports\[0\] payload must be bytes"),
        (message(reports=[[DIGEST, 1, "text"]]), r"reports\[0\] payload must be bytes"),
        (message(reports=[[DIGEST, 1, None]]), r"reports\[0\] payload must be bytes"),
        (message(id=msgpack.ExtType(4, ID)), "body must be one msgpack upload"),
        (message(id=msgpack.Timestamp(1)), "body must be one msgpack upload"),
    ],
)
def test_a_wrong_field_is_refused_by_name_and_its_value_is_not_repeated(body, complaint):
    with pytest.raises(WireError, match=complaint) as caught:
        wire.decode(body)
    assert "text" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_million_reports_of_a_relay_travel_in_one_part():
    upload = Upload(ID, (Part(DIGEST, 20_000, bytes(1_000_000)),))
    assert wire.decode(wire.encode(upload)) == upload


def test_a_key_given_twice_is_refused():
    twice = b"\x84" + b"\xa1v\x01" * 2 + b"\xa2id\xc4\x10" + ID + b"\xa3pad\xc4\x00"
    with pytest.raises(WireError, match="body must be a map with the keys"):
        wire.decode(twice)
