"""The bytes of a journal: every bit of every record, cuts, moves, and ends that come back."""

from __future__ import annotations

import pytest

from deniable._storage.directory import DamageError, TornDraftError
from deniable._storage.records import (
    SALT,
    Header,
    RecordReader,
    encode_record,
    make_salt,
    read_header,
)

HEADER = Header("flightdeck", 3, bytes(range(16)), bytes(32), 200, established=True)
RECORDS = [(b"\x01debit", b"report" * 3), (b"\x03another debit", b""), (b"\x0bbody", b"tail")]


def journal(records=RECORDS, header=HEADER):
    """Bytes of records, and where each ends."""
    reader, content, ends = RecordReader(header, 0), b"", []
    for body, tail in records:
        content += encode_record(reader.seed, len(content), body, tail)
        reader.follow(body, len(content) - reader.end)
        ends.append(len(content))
    return content, ends


def read(content, header=HEADER):
    reader = RecordReader(header, 0)
    return [(body, tail) for _, body, tail in reader.read(content)], reader.end


def test_records_are_read_as_they_were_written():
    content, ends = journal()
    assert read(content) == (RECORDS, len(content))
    assert [place for place, _, _ in RecordReader(HEADER, 0).read(content)] == [0, *ends[:-1]]


def test_every_bit_of_every_record_is_checked():
    """A bit of a body ends the reading there; one of a tail costs that tail alone."""
    content, ends = journal()
    outcomes = set()
    for place in range(len(content)):
        for bit in range(8):
            turned = bytearray(content)
            turned[place] ^= 1 << bit
            found, end = read(bytes(turned))
            number = next(index for index, end in enumerate(ends) if place < end)
            if end == len(content):
                lost = [index for index, (_, tail) in enumerate(found) if tail is None]
                assert lost == [number]
                assert [body for body, _ in found] == [body for body, _ in RECORDS]
                outcomes.add("tail")
            else:
                assert (found, end) == (RECORDS[:number], [0, *ends][number])
                outcomes.add("body")
    assert outcomes == {"body", "tail"}


def test_what_is_cut_off_is_missing_and_nothing_else():
    content, ends = journal()
    for length in range(len(content) + 1):
        whole = sum(end <= length for end in ends)
        assert read(content[:length]) == (RECORDS[:whole], [0, *ends][whole])


def test_a_record_of_another_journal_or_another_place_is_none():
    content, ends = journal()
    other = Header("flightdeck", 3, b"another nonce..!", bytes(32), 200, established=True)
    assert read(content, other) == ([], 0)
    assert read(content[ends[0] :]) == ([], 0)
    assert read(content[ends[0] : ends[1]] + content[: ends[0]]) == ([], 0)


def test_zeros_are_no_record():
    """As a power failure leaves them where the length of a file was kept and its bytes were not."""
    assert read(bytes(4_096)) == ([], 0)


def test_nothing_that_was_cut_off_follows_what_is_written_in_its_place():
    """Its first record was torn; one of equal length, written there later, would end where the next
    begins."""
    content, ends = journal()
    salt = make_salt()
    record = encode_record(RecordReader(HEADER, 0).seed, 0, salt)
    reader = RecordReader(HEADER, 0)
    reader.follow(salt, len(record))
    filler = ends[1] - len(record) - len(encode_record(0, 0, b"\x01"))
    again = record + encode_record(reader.seed, len(record), b"\x01", bytes(filler))
    assert len(again) == ends[1]
    found, end = read(again + content[ends[1] :])
    assert [body[0] for body, _ in found] == [SALT, 1]
    assert end == ends[1]


def test_a_header_is_read_as_it_was_written_and_every_bit_of_it_is_checked():
    content = HEADER.encode()
    assert read_header(content + b"records") == (HEADER, len(content))
    for length in range(len(content)):
        with pytest.raises(TornDraftError):
            read_header(content[:length])
    for place in range(8 * len(content)):
        turned = bytearray(content)
        turned[place // 8] ^= 1 << place % 8
        with pytest.raises(TornDraftError):
            read_header(bytes(turned))


def test_a_journal_of_a_later_version_is_left_alone(monkeypatch):
    monkeypatch.setattr("deniable._storage.records.VERSION", 2)
    content = HEADER.encode()
    monkeypatch.undo()
    with pytest.raises(DamageError, match="later version") as caught:
        read_header(content)
    assert not isinstance(caught.value, TornDraftError)
