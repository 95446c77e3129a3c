"""What pure-ldp's heavy hitters find: reads one JSON object, prints another.

    .venv-peers/bin/python benchmarks/discovery/heavy_hitters.py PEM < words.json

The input has "epsilon", "counts", the number of devices that hold each word, and "words", made of
30 bits: six letters of five bits, longer words are cut. The classes are PEM, TreeHist and SFP over
the project's own Hadamard count-mean sketch of 128 functions and 1,024 buckets, which takes words
as they are; they are asked for the 32 most common words.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module
from typing import Any, Final

import numpy as np

HASH_FUNCTIONS: Final = 128
BUCKETS: Final = 1_024
BITS: Final = 30
TOP: Final = 32

STEPS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "PEM": ("prefix_extending", {"start_length": 6, "fragment_length": 6}),
    "TreeHist": ("treehistogram", {"fragment_length": 6}),
    "SFP": ("apple_sfp", {"fragment_length": 6}),
}
"""By mechanism: its module, and how it cuts words into pieces."""


def found(name: str, words: list[str], counts: list[int], epsilon: float) -> list[str]:
    """The words that one mechanism finds.

    Args:
        name: of the mechanism.
        words: of 30 bits.
        counts: how many devices hold each.
        epsilon: in nats.
    """
    module, options = STEPS[name]
    classes = import_module(f"pure_ldp.heavy_hitters.{module}")
    sketch = import_module("pure_ldp.frequency_oracles.apple_cms")
    # SFP adds its padding to the alphabet, so only a set will do.
    options |= {"max_string_length": BITS, "alphabet": {"0", "1"}} if name == "SFP" else {
        "max_string_length": BITS
    }  # fmt: skip
    oracle = sketch.CMSServer(epsilon, HASH_FUNCTIONS, BUCKETS, is_hadamard=True)
    client_oracle = sketch.CMSClient(epsilon, oracle.get_hash_funcs(), BUCKETS, is_hadamard=True)
    server = getattr(classes, f"{name}Server")(epsilon, fo_server=oracle, **options)
    client = getattr(classes, f"{name}Client")(epsilon, fo_client=client_oracle, **options)
    held = np.repeat(np.arange(len(words)), counts)
    np.random.default_rng().shuffle(held)
    for index in held.tolist():
        server.aggregate(client.privatise(words[index]))
    heavy, shares = server.find_heavy_hitters(k=TOP)
    order = np.argsort(-np.asarray(list(shares), float), kind="stable")[:TOP]
    return [list(heavy)[index] for index in order]


def main() -> None:
    """Reads, measures and prints."""
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    start = time.process_time()
    try:
        answer: dict[str, Any] = {
            "found": found(sys.argv[1], asked["words"], asked["counts"], asked["epsilon"])
        }
    except Exception as error:  # noqa: BLE001  whatever breaks in a peer is its result
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer | {"seconds": time.process_time() - start}))


if __name__ == "__main__":
    main()
