"""How fast the public projects are: prints one JSON object.

    .venv-peers/bin/python benchmarks/peers.py

For each project and mechanism: reports randomized and reports aggregated per second on one core,
through the calls of the project's own examples. Theirs draw from a Mersenne Twister, ours from the
operating system. What is not installed or does not work becomes ``{"error": ...}``.
"""

from __future__ import annotations

import json
import time
import warnings
from functools import partial
from importlib import import_module, metadata
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EPSILON: Final = 1.0
EPSILON_PERMANENT: Final = 2.0
BITS: Final = 1_024
HASH_FUNCTIONS: Final = 64
CANDIDATES: Final = 2_000

ROUNDS: Final = 5
FEW_REPORTS: Final = 2_000
"""For reports of 1,024 bits: as vectors of floats they take 8 KiB each."""

MANY_REPORTS: Final = 50_000


def pure_ldp(module: str, prefix: str, size: int, count: int, **options: bool) -> dict[str, float]:
    """One of pure-LDP's oracles over `size` items."""
    found = import_module(f"pure_ldp.frequency_oracles.{module}")
    client = getattr(found, f"{prefix}Client")(EPSILON, size, **options)
    server = getattr(found, f"{prefix}Server")(EPSILON, size, **options)
    return speeds(client.privatise, server.aggregate_all, range(1, size + 1), count)


def pure_ldp_sketch(*, hadamard: bool) -> dict[str, float]:
    """pure-LDP's CMS or HCMS, and how many candidates it estimates per second."""
    module = import_module("pure_ldp.frequency_oracles.apple_cms")
    server = module.CMSServer(EPSILON, HASH_FUNCTIONS, BITS, is_hadamard=hadamard)
    client = module.CMSClient(EPSILON, server.get_hash_funcs(), BITS, is_hadamard=hadamard)
    found = speeds(client.privatise, server.aggregate_all, range(BITS), FEW_REPORTS)
    estimate = partial(server.estimate_all, range(CANDIDATES), suppress_warnings=True)
    return {**found, "candidates_per_second": rate(estimate, CANDIDATES)}


def pure_ldp_rappor() -> dict[str, float]:
    """pure-LDP's RAPPOR, which has no instantaneous response."""
    module = import_module("pure_ldp.frequency_oracles.rappor")
    server = module.RAPPORServer(f=0.5, m=BITS, k=2, d=BITS)
    client = module.RAPPORClient(f=0.5, m=BITS, hash_funcs=server.get_hash_funcs())
    return speeds(client.privatise, server.aggregate_all, range(1, BITS + 1), FEW_REPORTS)


def multi_freq_grr(size: int) -> dict[str, float]:
    """multi-freq-ldpy's generalized randomized response over `size` items."""
    module = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    return speeds(
        lambda item: module.GRR_Client(item, size, EPSILON),
        lambda reports: module.GRR_Aggregator_MI(reports, size, EPSILON),
        range(size),
        MANY_REPORTS,
    )


def multi_freq_rappor() -> dict[str, float]:
    """multi-freq-ldpy's basic RAPPOR: two rounds over one bit per item, without a Bloom filter."""
    module = import_module("multi_freq_ldpy.long_freq_est.L_SUE")
    return speeds(
        lambda item: module.L_SUE_Client(item, BITS, EPSILON_PERMANENT, EPSILON),
        lambda reports: module.L_SUE_Aggregator_MI(reports, EPSILON_PERMANENT, EPSILON),
        range(BITS),
        FEW_REPORTS,
    )


def multi_freq_oue() -> dict[str, float]:
    """multi-freq-ldpy's optimized unary encoding, its nearest relative of a sketch's row."""
    module = import_module("multi_freq_ldpy.pure_frequency_oracles.UE")
    return speeds(
        lambda item: module.UE_Client(item, BITS, EPSILON),
        lambda reports: module.UE_Aggregator_MI(reports, EPSILON),
        range(BITS),
        FEW_REPORTS,
    )


PEERS: Final[dict[str, dict[str, Callable[[], dict[str, float]]]]] = {
    "pure-ldp": {
        "grr_16": partial(pure_ldp, "direct_encoding", "DE", 16, MANY_REPORTS),
        "grr_1024": partial(pure_ldp, "direct_encoding", "DE", 1_024, MANY_REPORTS),
        "oue_1024": partial(pure_ldp, "unary_encoding", "UE", BITS, FEW_REPORTS, use_oue=True),
        "olh_1024": partial(pure_ldp, "local_hashing", "LH", BITS, FEW_REPORTS, use_olh=True),
        "cms_1024": partial(pure_ldp_sketch, hadamard=False),
        "hcms_1024": partial(pure_ldp_sketch, hadamard=True),
        "rappor_1024": pure_ldp_rappor,
    },
    "multi-freq-ldpy": {
        "grr_16": partial(multi_freq_grr, 16),
        "grr_1024": partial(multi_freq_grr, 1_024),
        "rappor_1024": multi_freq_rappor,
        "oue_1024": multi_freq_oue,
    },
}


def speeds(
    randomize: Callable[[int], Any],
    aggregate: Callable[[list[Any]], Any],
    items: Sequence[int],
    count: int,
) -> dict[str, float]:
    """Reports per second on both sides.

    Args:
        randomize: one item to one report.
        aggregate: all reports.
        items: the domain; devices hold its items in turn.
        count: how many reports are randomized, and aggregated, at a time.
    """
    randomize(items[0])  # compiles, where there is something to compile
    held = list(islice(cycle(items), count))
    reports = [randomize(item) for item in held]
    return {
        "client_reports_per_second": rate(lambda: list(map(randomize, held)), count),
        "aggregator_reports_per_second": rate(lambda: aggregate(reports), count),
    }


def rate(run: Callable[[], Any], count: int) -> float:
    """How many per second of processor time, when one call does `count`: the fastest of a few."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return count / best


def measure(peer: str) -> dict[str, Any]:
    """All mechanisms of one project, each with its speeds or its error."""
    try:
        found: dict[str, Any] = {"version": metadata.version(peer)}
    except metadata.PackageNotFoundError:
        return {"error": f"{peer} is not installed"}
    for name, run in PEERS[peer].items():
        try:
            found[name] = run()
        except Exception as error:  # noqa: BLE001  whatever breaks in a peer is its result
            found[name] = {"error": f"{type(error).__name__}: {error}"}
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({peer: measure(peer) for peer in PEERS}, indent=2))
