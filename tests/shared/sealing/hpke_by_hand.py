"""HPKE as RFC 9180 writes it, to open what the shipped code seals: an independent second reader.

Single-shot, base mode, HKDF-SHA256 and AES-128-GCM. X-Wing is draft-connolly-cfrg-xwing-kem.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

DHKEM_X25519, XWING = 0x0020, 0x647A
HKDF_SHA256, AES_128_GCM = 0x0001, 0x0001
LABEL = bytes.fromhex("5c2e2f2f5e5c")


def extract(salt: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), material, "sha256")


def expand(key: bytes, info: bytes, length: int) -> bytes:
    out, block = b"", b""
    for counter in range(1, 3):
        block = hmac.digest(key, block + info + bytes([counter]), "sha256")
        out += block
    return out[:length]


def labeled_extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return extract(salt, b"HPKE-v1" + suite + label + material)


def labeled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return expand(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)


def decapsulate_x25519(secret: bytes, shared: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(secret)
    agreed = key.exchange(X25519PublicKey.from_public_bytes(shared))
    suite = b"KEM" + DHKEM_X25519.to_bytes(2, "big")
    pseudorandom = labeled_extract(suite, b"", b"eae_prk", agreed)
    context = shared + key.public_key().public_bytes_raw()
    return labeled_expand(suite, pseudorandom, b"shared_secret", context, 32)


def decapsulate_xwing(secret: bytes, shared: bytes) -> bytes:
    post, classic = secret[:64], X25519PrivateKey.from_private_bytes(secret[64:])
    agreed = MLKEM768PrivateKey.from_seed_bytes(post).decapsulate(shared[:1_088])
    point = shared[1_088:]
    exchanged = classic.exchange(X25519PublicKey.from_public_bytes(point))
    public = classic.public_key().public_bytes_raw()
    return hashlib.sha3_256(agreed + exchanged + point + public + LABEL).digest()


def open_by_hand(kem: int, secret: bytes, sealed: bytes, info: bytes) -> bytes:
    """What is inside; raises InvalidTag."""
    length, decapsulate = {
        DHKEM_X25519: (32, decapsulate_x25519),
        XWING: (1_120, decapsulate_xwing),
    }[kem]
    suite = b"HPKE" + b"".join(
        number.to_bytes(2, "big") for number in (kem, HKDF_SHA256, AES_128_GCM)
    )
    agreed = decapsulate(secret, sealed[:length])
    context = (
        b"\x00"
        + labeled_extract(suite, b"", b"psk_id_hash", b"")
        + labeled_extract(suite, b"", b"info_hash", info)
    )
    root = labeled_extract(suite, agreed, b"secret", b"")
    key = labeled_expand(suite, root, b"key", context, 16)
    nonce = labeled_expand(suite, root, b"base_nonce", context, 12)
    return AESGCM(key).decrypt(nonce, sealed[length:], b"")
