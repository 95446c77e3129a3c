from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
import sys

import pytest
from cryptography.exceptions import InvalidTag

from deniable_shared import wire
from deniable_shared.errors import ParameterError, SealError, WireError
from deniable_shared.sealing import (
    HEADER_BYTES,
    HYBRID,
    SUITES,
    X25519,
    Answer,
    Opener,
    Part,
    PrivateKey,
    PublicKey,
    Sealer,
    envelope_bytes,
    is_public_key,
    pack_write_key,
    parse_private_key,
    parse_public_key,
    read_header,
    tag_of,
    unpack_write_key,
)
from tests.shared.sealing.hpke_by_hand import DHKEM_X25519, XWING, open_by_hand
from tests.vectors import sealed

STORED = json.loads(sealed.FILE.read_text(encoding="utf-8"))
KEMS = {"x25519": DHKEM_X25519, "mlkem768-x25519": XWING}
KEYS = {name: PrivateKey.generate(suite) for name, suite in SUITES.items()}
PUBLIC_TEXT = KEYS["x25519"].public.text
every_suite = pytest.mark.parametrize("name", SUITES)
every_vector = pytest.mark.parametrize(
    "vector", STORED["keys"], ids=lambda vector: vector["public"].partition(":")[0]
)


def upload(payload=b"\x01"):
    return wire.encode(
        wire.Upload(secrets.token_bytes(16), (wire.Part(bytes(32), 20_000, payload),))
    )


@every_suite
def test_what_is_sealed_opens_to_the_same_upload_and_key(name):
    body = upload()
    opened = Opener(KEYS.values()).open(Sealer(KEYS[name].public, sealed.WRITE_KEY).seal(body))
    assert wire.encode(opened.upload) == body
    assert opened.write_key == sealed.WRITE_KEY


@every_suite
def test_a_retry_is_sealed_anew_and_has_the_same_header(name):
    sealer, body = Sealer(KEYS[name].public, sealed.WRITE_KEY), upload()
    first, second = sealer.seal(body), sealer.seal(body)
    assert first[:HEADER_BYTES] == second[:HEADER_BYTES]
    shared = sum(one == other for one, other in zip(first, second, strict=True)) - HEADER_BYTES
    assert shared < len(first) / 10
    assert read_header(first) == (KEYS[name].public.id, tag_of(wire.decode(body).id))


@every_suite
@pytest.mark.parametrize("payload", [1, 200, 300, 4_096, 8_300])
def test_lengths_of_envelopes_are_those_that_relays_take(name, payload):
    envelope = Sealer(KEYS[name].public, sealed.WRITE_KEY).seal(upload(bytes(payload)))
    assert len(envelope) in envelope_bytes(SUITES[name])


@every_suite
def test_no_altered_byte_opens(name):
    opener = Opener([KEYS[name]])
    envelope = Sealer(KEYS[name].public, sealed.WRITE_KEY).seal(upload())
    for at in {*range(HEADER_BYTES + 4), HEADER_BYTES + 40, len(envelope) - 1}:
        altered = bytearray(envelope)
        altered[at] ^= 1
        with pytest.raises(SealError):
            opener.open(bytes(altered))
    for length in (0, 1, HEADER_BYTES, HEADER_BYTES + 1, len(envelope) - 1):
        with pytest.raises(SealError):
            opener.open(envelope[:length])


def test_an_envelope_with_the_tag_of_another_upload_is_refused():
    # Whoever seals can choose the tag: the aggregator compares it with the upload's.
    key = KEYS["x25519"]
    header = b"\x01" + key.public.id + tag_of(bytes(16))
    plaintext = pack_write_key(sealed.WRITE_KEY) + upload()
    swapped = header + key.public.seal(plaintext, b"deniable sealed 1" + header)
    with pytest.raises(SealError, match="tag"):
        Opener([key]).open(swapped)


def test_a_seal_to_another_key_is_refused():
    envelope = Sealer(KEYS["x25519"].public, sealed.WRITE_KEY).seal(upload())
    with pytest.raises(SealError, match="key of this aggregator"):
        Opener([KEYS["mlkem768-x25519"]]).open(envelope)


def test_what_is_no_upload_inside_is_told_from_what_does_not_open():
    key = KEYS["x25519"]
    header = b"\x01" + key.public.id + bytes(16)
    plaintext = pack_write_key(sealed.WRITE_KEY) + b"no upload"
    with pytest.raises(WireError) as raised:
        Opener([key]).open(header + key.public.seal(plaintext, b"deniable sealed 1" + header))
    assert not isinstance(raised.value, SealError)


@every_vector
def test_stored_envelopes_open_and_keys_stay(vector):
    key = parse_private_key(vector["private"])
    assert key.public.text == vector["public"]
    assert key.public.id.hex() == vector["id"]
    opened = Opener([key]).open(bytes.fromhex(vector["envelope"]))
    assert wire.encode(opened.upload).hex() == vector["upload"]
    assert opened.write_key == vector["write_key"]


@every_vector
def test_a_second_reader_that_follows_the_standards_opens_the_same(vector):
    name = vector["public"].partition(":")[0]
    secret = hashlib.shake_256(name.encode()).digest(SUITES[name].private_bytes)
    envelope = bytes.fromhex(vector["envelope"])
    info = b"deniable sealed 1" + envelope[:25]
    inside = open_by_hand(KEMS[name], secret, envelope[25:], info)
    assert inside == bytes(range(100, 138)) + bytes.fromhex(vector["upload"])
    with pytest.raises(InvalidTag):
        open_by_hand(KEMS[name], secret, envelope[25:], info + b"x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x25519:",
        "x25519",
        PUBLIC_TEXT[:-4],
        PUBLIC_TEXT + "\n",
        PUBLIC_TEXT.replace("x25519:", "X25519:"),
        PUBLIC_TEXT.replace("x25519:", "mlkem768-x25519:"),
        25519,
    ],
)
def test_a_text_that_is_no_key_is_refused(text):
    with pytest.raises(ParameterError, match="key must be x25519:<base64>"):
        parse_public_key(text)


LOW_ORDER = (
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    2**255 - 20,
    2**255 - 19,
    2**255 - 18,
    2**256 - 1 - 18,  # the highest bit is not read
)


@pytest.mark.parametrize("point", LOW_ORDER)
@every_suite
def test_a_point_to_which_nothing_can_be_sealed_is_no_key(name, point):
    suite = SUITES[name]
    public = PrivateKey.generate(suite).public
    weak = PublicKey(suite, public.data[:-32] + point.to_bytes(32, "little"))
    with pytest.raises(ValueError, match="shared key"):
        weak.seal(b"", b"")
    assert not is_public_key(weak.text)
    assert is_public_key(public.text)


@pytest.mark.service
def test_a_seal_to_x25519_does_without_the_backends_of_cryptography():
    program = (
        "import sys; from deniable_shared.sealing import X25519, PublicKey;"
        "PublicKey(X25519, bytes([9] * 32)).seal(b'', b'');"
        " assert not [name for name in sys.modules if 'backends' in name]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_cryptography_is_asked_by_its_own_method(monkeypatch):
    key = PrivateKey.generate(X25519)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.bindings._rust", None)
    assert key.open(key.public.seal(b"inside", b"info"), b"info") == b"inside"


def test_a_private_key_is_never_shown():
    key = PrivateKey.generate(HYBRID)
    assert key.secret_text.partition(":")[2] not in repr(key)
    with pytest.raises(ParameterError) as raised:
        parse_private_key(key.secret_text[:-4])
    assert key.secret_text[20:40] not in str(raised.value)


def test_a_write_key_travels_as_38_bytes():
    for _ in range(200):
        token = f"deniable_write_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"
        assert len(pack_write_key(token)) == 38
        assert unpack_write_key(pack_write_key(token)) == token


@pytest.mark.parametrize(
    "token",
    [
        "",
        "any text",
        sealed.WRITE_KEY.replace("write", "read"),
        sealed.WRITE_KEY[:-1],
        sealed.WRITE_KEY[:-1] + "_",  # has bits that 32 bytes have not
    ],
)
def test_other_keys_are_refused_and_not_shown(token):
    with pytest.raises(ParameterError, match="deniable keys create") as raised:
        Sealer(PrivateKey.generate(X25519).public, token)
    assert not token or token not in str(raised.value)


def test_a_stored_part_decodes_and_encodes_to_the_same_bytes():
    body = bytes.fromhex(STORED["parts"]["good"]["a part"])
    part = Part.decode(body)
    assert part.encode() == body
    assert (part.size, part.every, part.least, part.offered) == (5_000, "week", 1_000, (1,))
    assert {envelope.hex() for envelope in part.envelopes} == {
        vector["envelope"] for vector in STORED["keys"]
    }


@pytest.mark.parametrize("name", STORED["parts"]["bad"])
def test_a_bad_part_is_refused(name):
    with pytest.raises(WireError):
        Part.decode(bytes.fromhex(STORED["parts"]["bad"][name]))


def test_an_answer_decodes_to_what_was_encoded():
    answer = Answer(3, 1, {"epoch_closed": 2, "unopened": 1}, (0, 7))
    assert Answer.decode(answer.encode(), 9) == answer
    [stored] = STORED["parts"]["answers"].values()
    assert Answer.decode(stored.encode(), 2).encode().decode() == stored


@pytest.mark.parametrize(
    ("answer", "envelopes"),
    [
        (Answer(3, 1, {}, (0,)), 6),  # one is not spoken of
        (Answer(3, 1, {}, (0,)), 4),
        (Answer(-1, 1, {}), 0),
        (Answer(True, 0, {}), 1),
        (Answer(1, 0, {"code": -1}, (0,)), 1),
        (Answer(0, 0, {}, (1, 0)), 2),
        (Answer(0, 0, {}, (0, 0)), 2),
        (Answer(0, 0, {}, (2, 3)), 2),
    ],
)
def test_an_answer_that_is_not_of_the_part_is_refused(answer, envelopes):
    with pytest.raises(WireError):
        Answer.decode(answer.encode(), envelopes)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"stored": 1}', b"[" * 100_000])
def test_what_is_no_answer_is_refused(body):
    with pytest.raises(WireError):
        Answer.decode(body, 1)
