"""Keys: those that uploads are sealed to, and the write key that travels inside.

A relay key reads ``<suite>:<base64>``. The suites are those of HPKE (RFC 9180) with HKDF-SHA256 and
AES-128-GCM over one of two key exchanges: ``x25519``, or ``mlkem768-x25519`` (X-Wing), whose seals
a quantum computer does not open either.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.addresses import Hidden
from deniable_shared.errors import ParameterError
from deniable_shared.frozen import frozen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives import hpke
    from cryptography.hazmat.primitives.asymmetric import x25519

KEY_ID_BYTES: Final = 8
WRITE_KEY_BYTES: Final = 38
"""A write key without its words: 6 bytes of its id and 32 of its secret."""

_WRITE_KEY: Final = re.compile(r"deniable_write_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_WRITE_KEY_ID_BYTES: Final = 6
_MLKEM_PUBLIC_BYTES: Final = 1_184
_MLKEM_SEED_BYTES: Final = 64


class Suite(NamedTuple):
    """A way to seal.

    Attributes:
        name: as in the text of a key.
        public_bytes: the length of a public key.
        private_bytes: the length of a private key.
        overhead_bytes: by how much what is sealed is longer than what is inside.
    """

    name: str
    public_bytes: int
    private_bytes: int
    overhead_bytes: int


X25519: Final = Suite("x25519", 32, 32, 32 + 16)
HYBRID: Final = Suite(
    "mlkem768-x25519", _MLKEM_PUBLIC_BYTES + 32, _MLKEM_SEED_BYTES + 32, 1_088 + 32 + 16
)
SUITES: Final = {suite.name: suite for suite in (X25519, HYBRID)}
KEY_CONSTRAINT: Final = " or ".join(f"{name}:<base64>" for name in SUITES)
"""As `deniable relay-key create` prints it; of a point of low order no seal can be made."""

_PRIME: Final = 2**255 - 19
_CURVE: Final = 486_662
"""Curve25519 is y^2 = x^3 + 486662 x^2 + x modulo the prime (RFC 7748)."""


@frozen
class PublicKey:
    """The key that uploads are sealed to.

    Attributes:
        suite: how they are sealed.
        data: the key itself; of `HYBRID` that of ML-KEM-768, and then that of X25519.
    """

    suite: Suite
    data: bytes

    @property
    def text(self) -> str:
        """As in a registry."""
        return f"{self.suite.name}:{binascii.b2a_base64(self.data, newline=False).decode()}"

    @property
    def id(self) -> bytes:
        """The first 8 bytes of the SHA-256 of the suite's name, a colon and the key."""
        named = self.suite.name.encode() + b":" + self.data
        return hashlib.sha256(named).digest()[:KEY_ID_BYTES]

    def seal(self, plaintext: bytes, info: bytes) -> bytes:
        """Seals anew, with a key of its own each time.

        Raises:
            ValueError: if no point of the curve is this key, so that nothing can be sealed to it.
            cryptography.exceptions.UnsupportedAlgorithm: if cryptography was built without the
                suite.
        """
        loaded: x25519.X25519PublicKey | hpke.MLKEM768X25519PublicKey
        if self.suite == X25519:
            loaded = _load_x25519(self.data)
        else:
            from cryptography.hazmat.primitives import hpke
            from cryptography.hazmat.primitives.asymmetric import mlkem, x25519

            loaded = hpke.MLKEM768X25519PublicKey(
                mlkem.MLKEM768PublicKey.from_public_bytes(self.data[:_MLKEM_PUBLIC_BYTES]),
                x25519.X25519PublicKey.from_public_bytes(self.data[_MLKEM_PUBLIC_BYTES:]),
            )
        return _hpke(self.suite).encrypt(plaintext, loaded, info=info)


class PrivateKey:
    """The aggregator's half of a relay key. Its `repr` shows the public half alone.

    Args:
        suite: how uploads are sealed.
        data: `Suite.private_bytes` long; of `HYBRID` the seed of ML-KEM-768, and then X25519.

    Attributes:
        public: the other half.
    """

    def __init__(self, suite: Suite, data: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.asymmetric import x25519

        self._data = data
        self._refusal = InvalidTag
        self._loaded: x25519.X25519PrivateKey | hpke.MLKEM768X25519PrivateKey
        if suite == X25519:
            self._loaded = x25519.X25519PrivateKey.from_private_bytes(data)
            public = self._loaded.public_key().public_bytes_raw()
        else:
            from cryptography.hazmat.primitives import hpke
            from cryptography.hazmat.primitives.asymmetric import mlkem

            post = mlkem.MLKEM768PrivateKey.from_seed_bytes(data[:_MLKEM_SEED_BYTES])
            classic = x25519.X25519PrivateKey.from_private_bytes(data[_MLKEM_SEED_BYTES:])
            self._loaded = hpke.MLKEM768X25519PrivateKey(post, classic)
            public = post.public_key().public_bytes_raw() + classic.public_key().public_bytes_raw()
        self.public = PublicKey(suite, public)
        self._suite = _hpke(suite)

    @classmethod
    def generate(cls, suite: Suite = X25519) -> PrivateKey:
        """A new key.

        Raises:
            cryptography.exceptions.UnsupportedAlgorithm: if cryptography was built without the
                suite.
        """
        from cryptography.hazmat.primitives.asymmetric import x25519

        data = x25519.X25519PrivateKey.generate().private_bytes_raw()
        if suite == HYBRID:
            from cryptography.hazmat.primitives.asymmetric import mlkem

            data = mlkem.MLKEM768PrivateKey.generate().private_bytes_raw() + data
        return cls(suite, data)

    @property
    def secret_text(self) -> str:
        """For the file that keeps it; see `parse_private_key`."""
        return f"{self.public.suite.name}:{binascii.b2a_base64(self._data, newline=False).decode()}"

    def open(self, sealed: bytes, info: bytes) -> bytes | None:
        """What is inside; None if it was sealed to another key or with another `info`, or altered.

        Args:
            sealed: what `PublicKey.seal` returned.
            info: must be the same.
        """
        try:
            return self._suite.decrypt(sealed, self._loaded, info=info)
        except self._refusal:
            return None

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.text})"


def parse_public_key(text: object) -> PublicKey:
    """Reads the text of a relay key; needs no cryptography.

    Raises:
        ParameterError: if it is none.
    """
    suite, data = _parse(text, private=False)
    if suite is None:
        raise ParameterError("key", KEY_CONSTRAINT, text)
    return PublicKey(suite, data)


def is_public_key(text: object) -> bool:
    """Whether this is the text of a relay key."""
    return _parse(text, private=False)[0] is not None


def parse_private_key(text: str) -> PrivateKey:
    """Reads `PrivateKey.secret_text`.

    Raises:
        ParameterError: if it is none; the text is not shown.
    """
    suite, data = _parse(text, private=True)
    if suite is None:
        raise ParameterError("relay key", "<suite>:<base64> of a private key", Hidden())
    return PrivateKey(suite, data)


def pack_write_key(token: str) -> bytes:
    """The 38 bytes of a write key, as they travel inside a seal.

    Raises:
        ParameterError: if it is not a key that ``deniable keys create`` makes; it is not shown.
    """
    form = _WRITE_KEY.fullmatch(token)
    if form is not None:
        data = bytes.fromhex(form[1]) + binascii.a2b_base64(
            form[2].translate(_FROM_URL_SAFE) + "=", strict_mode=False
        )
        if unpack_write_key(data) == token:
            return data
    made = "deniable keys create --scope write --application NAME"
    raise ParameterError("key", f"a write key as this command makes it: {made}", Hidden())


@lru_cache(64)
def unpack_write_key(data: bytes) -> str:
    """The write key of 38 bytes; whether it is valid is known to the store alone."""
    secret = binascii.b2a_base64(data[_WRITE_KEY_ID_BYTES:], newline=False).decode()
    shown = secret.translate(_TO_URL_SAFE).rstrip("=")
    return f"deniable_write_{data[:_WRITE_KEY_ID_BYTES].hex()}_{shown}"


_TO_URL_SAFE: Final = str.maketrans("+/", "-_")
_FROM_URL_SAFE: Final = str.maketrans("-_", "+/")


def _parse(text: object, *, private: bool) -> tuple[Suite | None, bytes]:
    name, _, encoded = text.partition(":") if isinstance(text, str) else ("", "", "")
    suite = SUITES.get(name)
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        return None, b""
    if suite is None or len(data) != (suite.private_bytes if private else suite.public_bytes):
        return None, b""
    if not private and _is_of_low_order(data[-X25519.public_bytes :]):
        return None, b""
    return suite, data


def _is_of_low_order(point: bytes) -> bool:
    """Whether a point of Curve25519, or of its twist, is nothing when it is taken eight times.

    Every exchange with such a point gives zero, so nothing can be sealed to it.
    """
    x, z = int.from_bytes(point, "little") % 2**255 % _PRIME, 1
    for _ in range(3):  # three doublings (RFC 7748, section 5)
        squares = (x * x - z * z) ** 2
        x, z = squares % _PRIME, 4 * x * z * (x * x + _CURVE * x * z + z * z) % _PRIME
    return z == 0


def _load_x25519(data: bytes) -> x25519.X25519PublicKey:
    """A public key, as cryptography's own method makes it.

    That method first imports the module of backends, which takes longer than all else together and
    says only whether OpenSSL has the curve.
    """
    try:
        from cryptography.hazmat.bindings._rust import openssl

        return openssl.x25519.from_public_bytes(data)
    except (ImportError, AttributeError):  # of another version
        from cryptography.hazmat.primitives.asymmetric import x25519

        return x25519.X25519PublicKey.from_public_bytes(data)


def _hpke(suite: Suite) -> hpke.Suite:
    from cryptography.hazmat.primitives import hpke

    kem = hpke.KEM.X25519 if suite == X25519 else hpke.KEM.MLKEM768_X25519
    return hpke.Suite(kem, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
