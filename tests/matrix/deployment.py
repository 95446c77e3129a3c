"""A whole deployment in a minute, written and read with what is installed in this environment.

``python -m tests.matrix.deployment write FOLDER`` has devices record and send, asks by command and
over HTTP, reads the pages, makes an archive and a backup, and leaves these with its answers and the
devices' files in FOLDER.

``python -m tests.matrix.deployment read FOLDER`` restores the backup, perhaps in another
environment, and finds the same answers, counts the same from the archive, and goes on with the
devices' files.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
import pyarrow.parquet as pq

from deniable_aggregator.answering.engines import Kernel, report_files
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.keeping.store.counters import decode_many, encode_counters
from deniable_shared.periods import epoch_at
from tests.matrix.device import VALUES
from tests.matrix.site import LISTS, REGISTRY, Site, loads
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEVICES = 8
DAYS = (0, 1, 7)
"""Days of reports. The first and the last are the same weekday, so that they can be compared."""

AGO = 14
"""How long before today the first of these days is: all are closed."""

ASKED = tuple(metric for metric in VALUES if metric not in LISTS)
"""Metrics that need no list of values."""

BACKUP = "backup"
ROUNDING = 1e-6
"""Histograms are found step by step, until steps are small: ends differ by less than this."""

UNAVAILABLE = 503

_random = np.random.default_rng(1)
COUNTERS = tuple(
    (_random.poisson(mean, 5_000).astype(np.int64), 4_096) for mean in (0.01, 1.0, 100.0, 40_000.0)
)
"""Counters, and how many are of the first section: each is stored in another way."""


def write(folder: Path, store: str, devices: str) -> None:
    """Makes a deployment, uses it, and leaves it in a new folder."""
    folder.mkdir()
    today = epoch_at(time.time())
    first = today - AGO
    site = Site(folder, store, first, devices)
    site.run("check", str(REGISTRY))
    keys = {scope: site.key(scope) for scope in ("admin", "write", "read")}
    site.start()
    try:
        site.run("metrics", "register", str(REGISTRY), token=keys["admin"])
        for day in (first + each for each in DAYS):
            site.move_to(day)
            totals = site.use_devices("send", keys["write"], DEVICES, folder / "devices")
            assert totals == {"recorded": DEVICES * len(VALUES), "sent": totals["recorded"]}
        site.move_to(today)
        kept = site.use_devices("keep", keys["write"], DEVICES, folder / "devices")
        assert kept == {"recorded": DEVICES * len(VALUES)}
        period = format_day(first), format_day(first + DAYS[-1])
        answers = dict(ask(site, keys["read"], period))
        look(site, keys["admin"], period)
        site.run("archive", "archive")
    finally:
        site.stop()
    site.run("store", "backup", BACKUP)
    (folder / "parts.msgpack").write_bytes(
        msgpack.packb([encode_counters(*each) for each in COUNTERS])
    )
    left = {"today": today, "period": period, "keys": keys, "answers": answers, **kept}
    (folder / "left.json").write_text(json.dumps(left), encoding="utf-8")


def read(folder: Path, store: str, devices: str) -> None:
    """Goes on with a deployment that was written, in a new store."""
    left = json.loads((folder / "left.json").read_text("utf-8"))
    keys, period = left["keys"], tuple(left["period"])
    parts = msgpack.unpackb((folder / "parts.msgpack").read_bytes())
    for part, (counters, _) in zip(parts, COUNTERS, strict=True):
        assert decode_many([part], counters.size)[0].tolist() == counters.tolist()
    site = Site(folder, store, left["today"], devices)
    site.run("store", "restore", BACKUP)
    site.run("store", "migrate")
    site.start()
    try:
        answers = dict(ask(site, keys["read"], period))
        differences = list(different(left["answers"], answers))
        assert not differences, "\n".join(differences[:20])
        counted_from_archive(folder, left["answers"])
        used = folder / f"devices-{time.monotonic_ns()}"
        shutil.copytree(folder / "devices", used)
        totals = site.use_devices("send", keys["write"], DEVICES, used)
        assert totals == {"already_reported": left["recorded"], "sent": left["recorded"]}
        everything = (len(DAYS) + 1) * DEVICES
        wait_until(lambda: counted(site, keys["read"]) == everything)
        look(site, keys["admin"], period)
    finally:
        site.stop()


def counted(site: Site, key: str) -> int:
    """How many reports answers have."""
    status, body = site.get("/v1/metrics/crash/estimate", key)
    assert status == 200, body
    reports: int = json.loads(body)["head"]["reports"]
    return reports


def different(first: Any, second: Any, where: str = "") -> Iterator[str]:
    """Where two answers differ by more than what other versions of numpy and scipy round to."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        for key, value in first.items():
            yield from different(value, second[key], f"{where}.{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from different(one, other, f"{where}[{place}]")
    elif not _alike(first, second):
        yield f"{where}: {first!r} and {second!r}"


def _alike(first: Any, second: Any) -> bool:
    """Whether two numbers, or texts of numbers in a table, are as good as equal."""
    try:
        return math.isclose(float(first), float(second), rel_tol=ROUNDING, abs_tol=ROUNDING)
    except (TypeError, ValueError):
        return bool(first == second)


def ask(site: Site, token: str, period: tuple[str, str]) -> Iterator[tuple[str, Any]]:
    """Every question about closed days, each by its command; some over HTTP, too."""
    while site.get("/v1/metrics/crash/estimate", token)[0] == UNAVAILABLE:
        pass  # what answers questions is still starting, and the server waits for it
    days = ("--since", period[0], "--until", period[1])
    for metric in VALUES:
        values = ("--candidates", LISTS[metric]) if metric in LISTS else ()
        answer = site.run("estimate", metric, *values, *days, "--json", token=token)
        yield f"estimate {metric}", loads(answer)
        if not values:
            path = f"/v1/metrics/{metric}/estimate?since={period[0]}&until={period[1]}"
            assert site.get(path, token) == (200, answer.encode().rstrip(b"\n")), metric
    yield "series", loads(site.run("series", "theme", *days, "--json", token=token))
    compared = ("--before", f"{period[0]}..{period[0]}", "--after", f"{period[1]}..{period[1]}")
    yield "change", loads(site.run("change", "theme", *compared, "--json", token=token))
    health = loads(site.run("health", "airport", *days, "--json", token=token))
    yield (
        "health",
        health["head"]["health"],
    )  # how many checks are made depends on what is a sum by now
    yield "discover", loads(site.run("discover", "search_term", *days, "--json", token=token))
    table = site.run("export", *ASKED, *days, "--by", "day", "--format", "csv", token=token)
    yield "export", list(csv.DictReader(io.StringIO(table)))


def look(site: Site, admin: str, period: tuple[str, str]) -> None:
    """What people look at: tables, pictures, reports, files of programs, and pages."""
    days = ("--since", period[0], "--until", period[1])
    for command in (
        ("metrics", "list"),
        ("metrics", "history"),
        ("health",),
        ("estimate", "theme", "--explain", "--picture", "theme.png", *days),
        ("report", "report.html", *days),
        ("export", *ASKED, *days, "-o", "all.parquet"),
        ("export", *ASKED, *days, "-o", "all.arrow"),
    ):
        assert site.run(*command, token=admin) or "-o" in command, command
    assert (site.folder / "theme.png").read_bytes().startswith(b"\x89PNG")
    assert pq.read_table(site.folder / "all.parquet").num_rows
    site.run("remote", "keygen", "--out", f"private-{time.monotonic_ns()}.pem")
    site.run("cost", str(REGISTRY))
    site.run("store", "estimates")
    site.run("log", "verify")
    in_a_notebook(site, admin)
    assert site.pages(admin, tuple(VALUES)) > len(VALUES)


def in_a_notebook(site: Site, token: str) -> None:
    """The same answers by `deniable_analysis`."""
    import deniable_analysis

    project = deniable_analysis.connect(server=site.url, token=token)
    crash = project["crash"].estimate()
    assert crash.answer.head.reports >= len(DAYS) * DEVICES
    assert len(crash.frame("pyarrow")) == len(crash.rows())


def counted_from_archive(folder: Path, answers: dict[str, Any]) -> None:
    """The archive's reports add up to the estimates that the server gave."""
    kernel = Kernel.of_registry(REGISTRY)
    files = report_files(str(folder / "archive"))
    tallies = kernel.merge(map(kernel.count_file, files))
    assert sum(tallies.column("reports").to_pylist()) == len(DAYS) * DEVICES * len(VALUES)
    counted = kernel.estimate(tallies, "startup_seconds")
    (mean,) = answers["estimate startup_seconds"]["numbers"]
    assert np.isclose(counted.mean, mean["estimate"], rtol=1e-12)
    assert [*counted_with_dask(kernel, files).column("reports")] == [*tallies.column("reports")]


def counted_with_dask(kernel: Kernel, files: Sequence[str]) -> Any:
    """The same by a cluster of this process alone."""
    from distributed import Client

    from deniable_aggregator.answering.engines import dask_cluster

    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as dask:
        return dask_cluster.count(kernel, files, dask)


def main() -> None:
    """Runs one half."""
    parser = argparse.ArgumentParser()
    parser.add_argument("act", choices=("write", "read"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", help="Default: an SQLite file in the folder.")
    parser.add_argument("--devices", default=sys.executable, help="The Python of devices.")
    options = parser.parse_args()
    folder = options.folder.resolve()
    store = options.store or str(folder / f"{options.act}-{time.monotonic_ns()}.db")
    (write if options.act == "write" else read)(folder, store, options.devices)


if __name__ == "__main__":
    main()
