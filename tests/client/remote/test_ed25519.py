from __future__ import annotations

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable._remote.ed25519 import (
    _BASE,
    _ORDER,
    _P,
    _add,
    _decode,
    _encode,
    _is_neutral,
    _times,
    verify,
)

RFC_8032 = [  # section 7.1: public key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        bytes.fromhex(""),
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        bytes.fromhex("72"),
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        bytes.fromhex("af82"),
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").digest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
        "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]

# Encodings of the points whose order divides 8, RFC 7748 and RFC 8032: the neutral point, (0, -1),
# the two of order 4 and the four of order 8.
Y_OF_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
SMALL = [
    (1).to_bytes(32, "little"),
    (_P - 1).to_bytes(32, "little"),
    (0).to_bytes(32, "little"),
    (1 << 255).to_bytes(32, "little"),
    *(
        (y | sign << 255).to_bytes(32, "little")
        for y in (Y_OF_ORDER_8, _P - Y_OF_ORDER_8)
        for sign in (0, 1)
    ),
]
# Other encodings of points: y of p or more, and a negative zero.
NOT_CANONICAL = [
    *((_P + y).to_bytes(32, "little") for y in range(19)),
    *((_P + y | 1 << 255).to_bytes(32, "little") for y in range(19)),
    (1 | 1 << 255).to_bytes(32, "little"),
    (_P - 1 | 1 << 255).to_bytes(32, "little"),
]


@pytest.mark.parametrize(("key", "message", "signature"), RFC_8032)
def test_the_vectors_of_rfc_8032(key, message, signature):
    assert verify(bytes.fromhex(key), message, bytes.fromhex(signature))
    assert not verify(bytes.fromhex(key), message + b"\x00", bytes.fromhex(signature))


@settings(max_examples=100, deadline=None)
@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200))
def test_what_cryptography_signs_is_verified(seed, message):
    private = Ed25519PrivateKey.from_private_bytes(seed)
    assert verify(private.public_key().public_bytes_raw(), message, private.sign(message))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.binary(min_size=32, max_size=32),
    message=st.binary(min_size=1, max_size=50),
    where=st.sampled_from(["key", "message", "signature"]),
    bit=st.integers(0, 8 * 64 - 1),
)
def test_one_changed_bit_is_refused_as_cryptography_refuses_it(seed, message, where, bit):
    private = Ed25519PrivateKey.from_private_bytes(seed)
    parts = {
        "key": bytearray(private.public_key().public_bytes_raw()),
        "message": bytearray(message),
        "signature": bytearray(private.sign(message)),
    }
    index = bit % (8 * len(parts[where]))
    parts[where][index // 8] ^= 1 << index % 8
    key, message, signature = map(bytes, parts.values())
    assert not verify(key, message, signature)
    with pytest.raises((InvalidSignature, ValueError)):
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)


@settings(max_examples=100, deadline=None)
@given(key=st.binary(max_size=40), message=st.binary(max_size=40), signature=st.binary(max_size=70))
def test_arbitrary_bytes_are_refused_and_nothing_raises(key, message, signature):
    assert not verify(key, message, signature)


def signed():
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    return private.public_key().public_bytes_raw(), b"message", private.sign(b"message")


def test_a_scalar_has_one_encoding():
    key, message, signature = signed()
    scalar = int.from_bytes(signature[32:], "little") + _ORDER
    assert not verify(key, message, signature[:32] + scalar.to_bytes(32, "little"))


def test_the_points_of_small_order_have_small_order():
    assert len(set(SMALL)) == 8
    for encoded in SMALL:
        point = _decode(encoded)
        assert _encode(point) == encoded
        assert _is_neutral(_times(8, point))
    assert _is_neutral(_times(_ORDER, _BASE))


@pytest.mark.parametrize("key", SMALL, ids=bytes.hex)
def test_a_key_of_small_order_is_refused_even_where_the_equation_holds(key):
    # With the neutral point as the key, this signature is valid for every message.
    scalar = 7
    commitment = _encode(_times(scalar, _BASE))
    signature = commitment + scalar.to_bytes(32, "little")
    for message in (b"", b"one", b"another", *(bytes([i]) for i in range(16))):
        assert not verify(key, message, signature)


@pytest.mark.parametrize("key", NOT_CANONICAL, ids=bytes.hex)
def test_a_key_that_is_not_canonical_is_refused(key):
    # For those of large order nobody knows a private key, so this calls the decoder itself.
    assert _decode(key) is None
    scalar = 7
    signature = _encode(_times(scalar, _BASE)) + scalar.to_bytes(32, "little")
    assert not verify(key, b"message", signature)


@pytest.mark.parametrize("commitment", SMALL + NOT_CANONICAL, ids=bytes.hex)
def test_a_signature_with_another_commitment_is_refused(commitment):
    key, message, signature = signed()
    assert not verify(key, message, commitment + signature[32:])


@pytest.mark.parametrize("small", SMALL, ids=bytes.hex)
def test_keys_with_a_component_of_small_order_are_judged_as_cryptography_does(small):
    """Signatures under a multiple of the base plus a point of small order.

    They hold for a part of the messages without the cofactor, and for all with it: the two sides
    must agree on each, and both answers have to occur where the small point is not the neutral one.
    """
    secret, nonce = 12_345, 67_890
    key = _encode(_add(_times(secret, _BASE), _decode(small)))
    commitment = _encode(_times(nonce, _BASE))
    answers = set()
    for number in range(64):
        message = bytes([number])
        digest = hashlib.sha512(commitment + key + message).digest()
        scalar = (nonce + int.from_bytes(digest, "little") * secret) % _ORDER
        signature = commitment + scalar.to_bytes(32, "little")
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except InvalidSignature:
            expected = False
        else:
            expected = True
        assert verify(key, message, signature) is expected
        answers.add(expected)
    assert answers == ({True} if small == SMALL[0] else {True, False})
