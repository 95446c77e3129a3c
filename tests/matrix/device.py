"""Devices of one application, with the client alone: it needs deniable and the standard library.

``python -m tests.matrix.device REGISTRY FOLDER ENDPOINT KEY ACT SECONDS DEVICES`` prints how many
reports were recorded, were already there, and were sent.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from deniable import Client

VALUES = {
    "theme": ("light", "dark", "system", "solarized"),
    "crash": (True, False, False),
    "airport": ("AMS", "BER", "CDG"),
    "startup_seconds": (0.5, 2.5, 9.0),
    "latency": (12.0, 250.0, 990.0),
    "features": ({"search": True, "export": False}, {"search": False, "export": False}),
    "emoji": ("🐝", "🌻"),
    "search_term": ("db", "go"),
}


def use(
    registry: Path, folder: Path, endpoint: str, key: str, act: str, now: float, devices: int
) -> Counter[str]:
    """Each device records every metric once.

    Args:
        act: "keep" to leave the reports on the device, "send" to send all that it has.
        now: the devices' clock, in seconds since 1970.
    """
    totals: Counter[str] = Counter()
    for number in range(devices):
        with Client(
            registry,
            endpoint=endpoint,
            key=key,
            directory=folder / f"device-{number}",
            consent=True,
            background=False,
            clock=lambda: now,
            strict=True,
        ) as client:
            for metric, values in VALUES.items():
                segment = {"segment": "beta"} if metric == "theme" else {}
                value = values[number % len(values)]
                totals[client.record(metric, value, **segment).name.lower()] += 1
            if act == "send":
                totals["sent"] += client.flush(timeout_seconds=60).sent
    return totals


if __name__ == "__main__":
    registry, folder, endpoint, key, act, now, devices = sys.argv[1:]
    assert act in ("keep", "send")
    totals = use(Path(registry), Path(folder), endpoint, key, act, float(now), int(devices))
    print(json.dumps(totals))
