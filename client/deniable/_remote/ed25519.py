"""Verifying Ed25519 signatures (RFC 8032) without a dependency.

A verification uses no secret, so nothing here runs in constant time. It takes some milliseconds,
once for every signed document that is read.

Where RFC 8032 leaves a choice, the stricter one is taken: every integer and every point has exactly
one valid encoding; public keys of small order, for which one signature may be valid for every
message, are refused; and the equation is checked without the cofactor.
"""

from __future__ import annotations

import hashlib
from typing import Final

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64

_P: Final = 2**255 - 19
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE: Final = pow(2, (_P - 1) // 4, _P)

# Extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z, RFC 8032, section 5.1.4.
_Point = tuple[int, int, int, int]
_NEUTRAL: Final[_Point] = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature of a message was made with the private half of a key.

    Args:
        public_key: 32 bytes.
        message: what was signed.
        signature: 64 bytes.

    Returns:
        True only if everything is well-formed and the equation [s]B = R + [k]A of RFC 8032, section
        5.1.7, holds; False for anything else.
    """
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    key = _decode(public_key)
    if key is None or _is_neutral(_times(8, key)):
        return False
    commitment, scalar = signature[:32], int.from_bytes(signature[32:], "little")
    if scalar >= _ORDER:
        return False
    digest = hashlib.sha512(commitment + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    # Compares the encoding of the expected R, so no other encoding of R can pass.
    return _encode(_add(_times(scalar, _BASE), _times(challenge, _negative(key)))) == commitment


def _add(one: _Point, other: _Point) -> _Point:
    """Adds two points, which may be equal (the formula is complete)."""
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a = (y1 - x1) * (y2 - x2) % _P
    b = (y1 + x1) * (y2 + x2) % _P
    c = 2 * t1 * t2 * _D % _P
    d = 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    product = _NEUTRAL
    for digit in bin(scalar)[2:]:
        product = _add(product, product)
        if digit == "1":
            product = _add(product, point)
    return product


def _negative(point: _Point) -> _Point:
    x, y, z, t = point
    return -x % _P, y, z, -t % _P


def _is_neutral(point: _Point) -> bool:
    x, y, z, _ = point
    return x == 0 and y == z


def _encode(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decode(encoded: bytes) -> _Point | None:
    """The point with this encoding (RFC 8032, section 5.1.3), or None if it is not canonical."""
    word = int.from_bytes(encoded, "little")
    sign, y = word >> 255, word & (1 << 255) - 1
    if y >= _P:
        return None
    numerator, denominator = (y * y - 1) % _P, (_D * y * y + 1) % _P
    x = numerator * pow(denominator, 3, _P)
    x = x * pow(x * pow(denominator, 4, _P), (_P - 5) // 8, _P) % _P
    square = denominator * x * x % _P
    if square == -numerator % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    elif square != numerator:
        return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


_BASE: Final[_Point] = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
    1,
    15112221349535400772501151409588531511454012693041857206046113283949847762202
    * 46316835694926478169428394003475163141307993866256225615783033603165251855960
    % _P,
)
