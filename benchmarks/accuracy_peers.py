"""How accurate the public projects are: prints one JSON object per line.

    .venv-peers/bin/python benchmarks/accuracy_peers.py [SECONDS [REPORTS]]

For each project, mechanism, epsilon and number of items, within so many seconds: the squared error
of all items on uniform data, and the squared error and the bias of the most common item on Zipf
data, each times the reports where it is squared, with standard errors. Calls are those of the
projects' own examples. What is not installed or does not work becomes ``{"error": ...}``.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
SIZES: Final = (16, 256)
REPORTS: Final = 2_000
ZIPF: Final = 1.1
MIN_RUNS: Final = 5
MAX_RUNS: Final = 400
SECONDS: Final = 1.0

HASH_FUNCTIONS: Final = 256
BUCKETS: Final = 1_024


def pure_ldp(module: str, prefix: str, **options: Any) -> Callable[[float, int], Any]:
    """One of pure-LDP's oracles, by the names of its module and classes."""

    def build(epsilon: float, size: int) -> Any:
        found = import_module(f"pure_ldp.frequency_oracles.{module}")
        client_of = getattr(found, f"{prefix}Client")
        server_of = getattr(found, f"{prefix}Server")

        def estimate(held: Sequence[int]) -> Any:
            server = server_of(epsilon, size, **options)
            extra = [server.get_hash_funcs()] if prefix == "HadamardResponse" else []
            client = client_of(epsilon, size, *extra, **options)
            server.aggregate_all([client.privatise(item + 1) for item in held])
            counts = server.estimate_all(range(1, size + 1), suppress_warnings=True)
            return np.asarray(counts) / len(held)

        return estimate

    return build


def pure_ldp_sketch(*, hadamard: bool) -> Callable[[float, int], Any]:
    """pure-LDP's CMS or HCMS, with 256 hash functions of 1,024 buckets."""

    def build(epsilon: float, size: int) -> Any:
        found = import_module("pure_ldp.frequency_oracles.apple_cms")

        def estimate(held: Sequence[int]) -> Any:
            server = found.CMSServer(epsilon, HASH_FUNCTIONS, BUCKETS, is_hadamard=hadamard)
            client = found.CMSClient(
                epsilon, server.get_hash_funcs(), BUCKETS, is_hadamard=hadamard
            )
            server.aggregate_all([client.privatise(item) for item in held])
            counts = server.estimate_all(range(size), suppress_warnings=True)
            return np.asarray(counts) / len(held)

        return estimate

    return build


def multi_freq(module: str, prefix: str) -> Callable[[float, int], Any]:
    """One of multi-freq-ldpy's oracles with its estimator "MI"."""

    def build(epsilon: float, size: int) -> Any:
        found = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
        client = getattr(found, f"{prefix}_Client")
        aggregate = getattr(found, f"{prefix}_Aggregator_MI")
        sized = () if prefix == "UE" else (size,)

        def estimate(held: Sequence[int]) -> Any:
            reports = [client(item, size, epsilon) for item in held]
            return np.asarray(aggregate(reports, *sized, epsilon))

        return estimate

    return build


def opendp_bits(epsilon: float, size: int) -> Any:
    """OpenDP's randomized response on a bit vector, with a single bit set."""
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    flip = 2 / (1 + math.exp(epsilon / 2))
    measurement = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flip
    )
    # Estimates come in the order of the bits from the lowest of each byte.
    ones = np.eye(size, dtype=np.uint8)
    vectors = [np.packbits(row, bitorder="little").tobytes() for row in ones]

    def estimate(held: Sequence[int]) -> Any:
        reports = [measurement(vectors[item]) for item in held]
        counts = dp.m.debias_randomized_response_bitvec(reports, flip)
        return np.asarray(counts) / len(held)

    return estimate


# From epsilon and the number of items to a function from the items that devices hold, counted from
# 0, to the estimated shares of all.
PEERS: Final[dict[str, dict[str, Callable[[float, int], Any]]]] = {
    "pure-ldp": {
        "GRR": pure_ldp("direct_encoding", "DE"),
        "OUE": pure_ldp("unary_encoding", "UE", use_oue=True),
        "OLH": pure_ldp("local_hashing", "LH", use_olh=True),
        "HR": pure_ldp("hadamard_response", "HadamardResponse"),
        "HM": pure_ldp("hadamard_mechanism", "HadamardMech", t=1, use_optimal_t=True),
        "CMS": pure_ldp_sketch(hadamard=False),
        "HCMS": pure_ldp_sketch(hadamard=True),
    },
    "multi-freq-ldpy": {
        "GRR": multi_freq("GRR", "GRR"),
        "OUE": multi_freq("UE", "UE"),
        "SS": multi_freq("SS", "SS"),
        "OLH": multi_freq("LH", "LH"),
    },
    "opendp": {"bit vector": opendp_bits},
}


def measured(
    build: Callable[[float, int], Any], epsilon: float, size: int, limit: float, reports: int
) -> Any:
    """The figures of one mechanism.

    Args:
        build: makes the estimator.
        epsilon: in nats.
        size: number of items.
        limit: seconds for each kind of data.
        reports: how many devices report in each repetition.
    """
    estimate = build(epsilon, size)
    generator = np.random.default_rng()
    uniform = np.full(size, 1 / size)
    common = np.arange(1, size + 1) ** -ZIPF
    common /= common.sum()
    estimate([0, 1])  # compiles, where there is something to compile

    def errors(shares: Any) -> list[Any]:
        found: list[Any] = []
        start = time.perf_counter()
        while len(found) < MAX_RUNS and (
            len(found) < MIN_RUNS or time.perf_counter() - start < limit
        ):
            held = generator.choice(size, reports, p=shares).tolist()
            found.append(estimate(held) - shares)
        return found

    squares = [reports * float((error**2).sum()) for error in errors(uniform)]
    top = [float(error[0]) for error in errors(common)]
    return {
        "squared_error": mean_of(squares),
        "top_squared_error": mean_of([reports * error**2 for error in top]),
        "top_bias": mean_of(top),
        "top_share": float(common[0]),
        "runs": len(squares),
        "top_runs": len(top),
    }


def mean_of(values: list[float]) -> list[float]:
    """A mean and its standard error."""
    return [float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))]


def main() -> None:
    """Prints a line for every figure as it comes."""
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    reports = int(sys.argv[2]) if len(sys.argv) > 2 else REPORTS
    for peer, mechanisms in PEERS.items():
        try:
            version = metadata.version(peer)
        except metadata.PackageNotFoundError:
            print(json.dumps({"project": peer, "error": "not installed"}), flush=True)
            continue
        for name, build in mechanisms.items():
            for size in SIZES:
                for epsilon in EPSILONS:
                    line = {"project": peer, "version": version, "mechanism": name}
                    line |= {"epsilon": epsilon, "size": size}
                    try:
                        line |= measured(build, epsilon, size, limit, reports)
                    except Exception as error:  # noqa: BLE001  whatever breaks in a peer is its result
                        line["error"] = f"{type(error).__name__}: {error}"
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
