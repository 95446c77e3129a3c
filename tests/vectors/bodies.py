"""Writes the corpus of bad bodies: ``python -m tests.vectors.bodies``.

Each is refused, in little time and memory. Repetitions are written as such, so that a body of
megabytes is a line: a body is the concatenation of [hexadecimal bytes, how often].
"""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).parent / "bodies.json"

ID = "a2 6964 c410" + "00" * 16
VERSION = "a1 76 01"
PAD = "a3 706164 c400"
REPORTS = "a7 7265706f727473"
DIGEST = "c420" + "aa" * 32
PART = f"93 {DIGEST} 01 c40101"
HEAD = f"84 {VERSION} {ID} {REPORTS}"

BODIES: dict[str, list[tuple[str, int]]] = {
    "nothing": [],
    "one byte that msgpack never uses": [("c1", 1)],
    "arrays, a million deep": [("91", 1_000_000)],
    "maps, half a million deep": [("81a0", 500_000)],
    "arrays of 1,024, a thousand deep": [("dc0400", 1_000)],
    "arrays of 1,024 maps": [(HEAD, 1), ("dc0400", 1), ("dc0400" + "80" * 1_024, 1_024), (PAD, 1)],
    "arrays of 1,024 nils": [(HEAD, 1), ("dc0400", 1), ("dc0400" + "c0" * 1_024, 1_024), (PAD, 1)],
    "a wide tree of maps": [(HEAD, 1), ("dc0400", 1), ("84a16180a16280a16380a16480", 1_024)],
    "an array that claims four billion": [("ddffffffff", 1)],
    "a map that claims four billion": [("dfffffffff", 1)],
    "bytes that claim four gigabytes": [("c6ffffffff", 1)],
    "text that claims four gigabytes": [("dbffffffff", 1)],
    "an extension that claims four gigabytes": [("c9ffffffff01", 1)],
    "a time stamp": [(f"{HEAD} 91 93 {DIGEST} d6ff00000000 c40101 {PAD}", 1)],
    "a key twice": [(f"84 {VERSION} {ID} {VERSION} {PAD}", 1)],
    "a key twice beside all others": [(f"85 {VERSION} {ID} {REPORTS} 91 {PART} {PAD} {PAD}", 1)],
    "keys that are bytes": [(f"84 c40176 01 {ID} {REPORTS} 91 {PART} {PAD}", 1)],
    "text that is not UTF-8": [(f"84 a1ff 01 {ID} {REPORTS} 91 {PART} {PAD}", 1)],
    "a version that is true": [(f"84 a17600c3 {ID}", 1)],
    "a version of two to the 64th": [
        (f"84 a176 cfffffffffffffffff {ID} {REPORTS} 91 {PART} {PAD}", 1)
    ],
    "an epoch of two to the 31st": [
        (f"{HEAD} 91 93 {DIGEST} ce80000000 c40101 {PAD}", 1),
    ],
    "an epoch that is a float": [(f"{HEAD} 91 93 {DIGEST} ca41a00000 c40101 {PAD}", 1)],
    "1,025 parts": [(HEAD, 1), ("dc0401", 1), (PART, 1_025), (PAD, 1)],
    "padding of ones": [(f"{HEAD} 91 {PART} a3 706164 c40101", 1)],
    "two uploads": [(f"{HEAD} 91 {PART} {PAD}", 2)],
    "HTTP": [(b"GET / HTTP/1.1\r\n\r\n".hex(), 1)],
    "JSON": [(b'{"v": 1}'.hex(), 1)],
    "gzip": [("1f8b0800000000000003", 1)],
    "zeros": [("00", 1_000_000)],
    "ones": [("ff", 1_000_000)],
}


def body(stored: list[tuple[str, int]]) -> bytes:
    """The bytes of an entry."""
    return b"".join(bytes.fromhex(part) * times for part, times in stored)


if __name__ == "__main__":
    lines = ",\n".join(
        f" {json.dumps(name)}: "
        + json.dumps([[bytes.fromhex(part).hex(), times] for part, times in parts])
        for name, parts in BODIES.items()
    )
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
