"""A few whole clients, as applications use them: they record, store and upload by themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import deniable
from demo.population import REGISTRY
from deniable_shared.registry import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any


class ClientTotals(NamedTuple):
    """What all clients did together.

    Attributes:
        recorded: values that were recorded.
        sent: reports that the aggregator acknowledged.
        directory_bytes: what one device keeps on disk afterwards.
    """

    recorded: int
    sent: int
    directory_bytes: int


def run(
    devices: Sequence[dict[str, Any]], directory: Path, endpoint: str, key: str
) -> ClientTotals:
    """Runs one client per device, each with a directory of its own.

    Args:
        devices: the true values of each.
        directory: the folder in which every client gets its own.
        endpoint: the aggregator's address.
        key: that the simulated devices of the same build are sent with, too.
    """
    registry = load(REGISTRY)

    def run_client(number: int) -> tuple[int, int]:
        home = directory / f"device-{number}"
        with deniable.Client(
            registry, endpoint=endpoint, key=key, directory=home, consent=True
        ) as client:
            outcomes = [client.record(name, value) for name, value in devices[number].items()]
            sent = client.flush(timeout_seconds=30).sent
        return outcomes.count(deniable.Outcome.RECORDED), sent

    with ThreadPoolExecutor(8) as pool:
        totals = list(pool.map(run_client, range(len(devices))))
    kept = [file.stat().st_size for file in (directory / "device-0").iterdir()]
    return ClientTotals(
        sum(total[0] for total in totals), sum(total[1] for total in totals), sum(kept)
    )
