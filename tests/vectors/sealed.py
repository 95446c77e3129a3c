"""Writes the vectors of sealing: ``python -m tests.vectors.sealed``.

Each seal has a key of its own, so that no two are equal: what may never change is that these open.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from deniable_shared import wire
from deniable_shared.sealing import SUITES, Answer, Part, PrivateKey, Sealer, unpack_write_key

FILE = Path(__file__).parent / "sealed.json"
UPLOAD = wire.encode(wire.Upload(bytes(range(16)), (wire.Part(bytes(range(32)), 20_000, b"\x01"),)))
WRITE_KEY = unpack_write_key(bytes(range(100, 138)))


def key_vectors() -> list[dict[str, str]]:
    """Keys of both suites, each with an envelope that opens with it."""
    vectors = []
    for suite in SUITES.values():
        seed = hashlib.shake_256(suite.name.encode()).digest(suite.private_bytes)
        key = PrivateKey(suite, seed)
        vectors.append(
            {
                "private": key.secret_text,
                "public": key.public.text,
                "id": key.public.id.hex(),
                "write_key": WRITE_KEY,
                "upload": UPLOAD.hex(),
                "envelope": Sealer(key.public, WRITE_KEY).seal(UPLOAD).hex(),
            }
        )
    return vectors


def part_vectors(envelopes: tuple[bytes, ...]) -> dict[str, dict[str, str]]:
    """Parts of batches, good and bad, and answers."""
    part = Part(bytes(range(16)), 5_000, "week", 1_000, envelopes, (1,))
    good = part.encode()
    bad = {
        "empty": b"",
        "truncated": good[:-1],
        "trailing byte": good + b"\x00",
        "version 2": good.replace(b"\xa1v\x01", b"\xa1v\x02"),
        "version true": good.replace(b"\xa1v\x01", b"\xa1v\xc3"),
        "unknown key": good.replace(b"\xa5least", b"\xa5leest"),
        "batch of 15 bytes": good.replace(b"\xc4\x10" + part.batch, b"\xc4\x0f" + part.batch[:-1]),
        "every month": part._replace(every="month").encode(),  # type: ignore[arg-type]
        "size below the part": part._replace(size=1).encode(),
        "least of 0": part._replace(least=0).encode(),
        "no uploads": part._replace(envelopes=(), offered=()).encode(),
        "an upload that is text": part._replace(envelopes=("a", "b")).encode(),  # type: ignore[arg-type]
        "1,001 uploads": part._replace(envelopes=(b"x",) * 1_001).encode(),
        "a list of lists": part._replace(envelopes=((b"x",),)).encode(),  # type: ignore[arg-type]
        "offered twice": part._replace(offered=(1, 1)).encode(),
        "offered beyond the part": part._replace(offered=(2,)).encode(),
        "a map in a map": good.replace(b"\xa5least\xcd\x03\xe8", b"\xa5least\x81\xa1v\x01"),
    }
    answer = Answer(1, 0, {}, (1,))
    return {
        "good": {"a part": good.hex()},
        "bad": {name: body.hex() for name, body in bad.items()},
        "answers": {"one stored, one again": answer.encode().decode()},
    }


if __name__ == "__main__":
    keys = key_vectors()
    sealed = tuple(sorted(bytes.fromhex(vector["envelope"]) for vector in keys))
    content = {"keys": keys, "parts": part_vectors(sealed)}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
