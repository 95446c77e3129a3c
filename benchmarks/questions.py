"""What questions cost: processor time of answers over a year of many metrics, cold and warm.

`python -m benchmarks.questions` makes a store of 10 metrics of 16 values, 365 days and 100 write
keys (365,000 slices), one of a month of a string metric of 200,000 devices a day, and others, see
`STORES`, and asks in fresh processes. Cold is the first question of a process, warm the same one
again, ingest after an upload of today that is not yet counted.
"""

from __future__ import annotations

import json
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import select

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator import Store, create_app
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.app import EXTENSION
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import schema
from deniable_aggregator.keeping.store.encoding import encode_reports, join_reports
from deniable_aggregator.keeping.store.merging import merge
from deniable_aggregator.keeping.store.parts import (
    NewPart,
    SliceNumbers,
    add_to_totals,
    insert_parts,
)
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.spec import Spec

METRICS: Final = 10
STRING_DEVICES: Final = 200_000
WARM: Final = 5
SECRET: Final = bytes(32)
REGISTERED: Final = 10_000

HEAD: Final = """registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
"""
VALUES: Final = [f"value {number}" for number in range(16)]
CATEGORY: Final = f"""type = "category"
values = {json.dumps(VALUES)}
complete = true
epsilon = 1.0
"""
STRING: Final = f'type = "string"\nepsilon = 2.0\nexpected_devices = {STRING_DEVICES}\n'
CANDIDATES: Final = [f"word {number}" for number in range(1_000)]

STORES: Final[dict[str, Any]] = {
    "year": {
        "declarations": {f"m{number}": CATEGORY for number in range(METRICS)},
        "days": 365,
        "keys": 100,
        "reports": 1_200,
        "distinct": 60,
    },
    "few": {
        "declarations": {"m0": CATEGORY},
        "days": 365,
        "keys": 100,
        "reports": 12,
        "distinct": 1_000,
    },
    "strings": {
        "declarations": {"word": STRING},
        "days": 30,
        "keys": 1,
        "reports": STRING_DEVICES,
        "distinct": 1,
    },
}
"""Slices of 1,200 reports have medians; those of 12 are stored as their reports."""

STORES.update(
    {
        "weeks": {
            "declarations": {"word": 'type = "string"\nepsilon = 4.0\n'},
            "days": 365,
            "keys": 10,
            "reports": 300,
            "distinct": 40,
        },
        "fifty": {
            "declarations": {f"m{number}": CATEGORY for number in range(50)},
            "days": 365,
            "keys": 10,
            "reports": 120,
            "distinct": 60,
        },
        "sketch": {
            "declarations": {
                "word": 'type = "string"\nepsilon = 4.0\nexpected_devices = 10_000_000\n'
            },
            "days": 14,
            "keys": 3,
            "reports": 300,
            "distinct": 6,
        },
    }
)
# A year of strings, a year of 50 metrics, and a sketch of 2,930 rows of 2,863 buckets.

VERSIONS: Final = 20
"""As many versions of an application declare the same string, each for other numbers of devices."""

STORES.update(
    {
        f"of {versions}": {
            "declarations": {"word": 'type = "string"\nepsilon = 4.0\n'},
            "days": 365,
            "keys": 1,
            "reports": 240 // versions,
            "distinct": 10,
            "versions": versions,
        }
        for versions in (1, VERSIONS)
    }
)
# The same number of reports a day, of one version and of several.

QUESTIONS: Final = {
    "estimate": ("/v1/metrics/m0/estimate", None),
    "series by day": ("/v1/metrics/m0/series?by=day", None),
    "health": ("/v1/metrics/m0/health", None),
    "health of all": ("/v1/health", None),
    "list of metrics": ("/v1/metrics", None),
    "estimate, few reports": ("/v1/metrics/m0/estimate", None),
    "string estimate": ("/v1/metrics/word/estimate", {"candidates": CANDIDATES}),
    "strings by week": ("/v1/metrics/word/series?by=week", {"candidates": CANDIDATES}),
    "270 strings by day": ("/v1/metrics/word/series?by=day", {"candidates": CANDIDATES[:270]}),
    "32 strings by day": ("/v1/metrics/word/series?by=day", {"candidates": CANDIDATES[:32]}),
    "1 version by day": ("/v1/metrics/word/series?by=day", {"candidates": CANDIDATES[:3]}),
    "20 versions by day": ("/v1/metrics/word/series?by=day", {"candidates": CANDIDATES[:3]}),
    "100,000 strings": (
        "/v1/metrics/word/estimate",
        {"candidates": [f"word {number}" for number in range(100_000)]},
    ),
    "health of 50 metrics": ("/v1/health", None),
}


def registry_of(declarations: dict[str, str]) -> str:
    """A registry with some metrics."""
    return HEAD + "".join(f"[metrics.{name}]\n{text}" for name, text in declarations.items())


def drawn(
    spec: Spec, reports: int, values: list[str], generator: np.random.Generator
) -> list[NewPart]:
    """A slice as it is stored, of devices whose values are Zipf-distributed."""
    report = randomizer_for(spec, Randomness()).report
    common = np.arange(1, len(values) + 1) ** -1.0
    held = generator.choice(len(values), reports, p=common / common.sum())
    encoded = [spec.encode(value) for value in values]
    width = spec.mechanism.report_bytes
    packed = join_reports((report(encoded[place], SECRET) for place in held.tolist()), width)
    return merge(tally_for(spec), [NewPart(reports, encode_reports(packed, width))])


def build(
    path: Path,
    declarations: dict[str, str],
    *,
    days: int,
    keys: int,
    reports: int,
    distinct: int,
    versions: int = 1,
) -> tuple[str, str]:
    """Makes a store, and returns a read key and a write key.

    Args:
        path: where.
        declarations: the metrics, by name; all are alike but for their names.
        days: how many, the last of them today.
        keys: how many write keys there are.
        reports: of a slice.
        distinct: so many different slices are drawn of a version, as drawing all of them would take
            an hour.
        versions: how many each metric has; those of one string differ in its `expected_devices`.
    """
    store, today = Store(path), epoch_at(time.time())
    specs: dict[bytes, Spec] = {}
    for version in range(versions):
        devices = f"expected_devices = {100_000 + 5_000 * version}\n" if versions > 1 else ""
        texts = {name: text + devices for name, text in declarations.items()}
        metrics = registry.parse(registry_of(texts)).metrics
        store.metrics.register(metrics.values(), today)
        specs.update({metric.spec.digest: metric.spec for metric in metrics.values()})
    issued = {"scope": "write", "application": "benchmark", "today": today}
    tokens = [create_key(store, label=f"app {each}", **issued) for each in range(keys)]
    read = create_key(store, label="", **{**issued, "scope": "read"})
    generator = np.random.default_rng(1)
    slices_of: dict[Mechanism, list[list[NewPart]]] = {}
    with store._database.write() as connection:
        query = select(schema.keys.c.number).where(schema.keys.c.scope == "write")
        numbers = connection.execute(query).scalars().all()
        stored = connection.execute(select(schema.metrics.c.number, schema.metrics.c.digest)).all()
        for metric, digest in stored:
            spec = specs[digest]
            if spec.mechanism not in slices_of:
                values = list(spec.values) or CANDIDATES[:50]
                slices_of[spec.mechanism] = [
                    drawn(spec, reports, values, generator) for _ in range(distinct)
                ]
            some = slices_of[spec.mechanism]
            for epoch in range(today - days + 1, today + 1):
                insert_parts(
                    connection,
                    [
                        (SliceNumbers(metric, epoch, key), part)
                        for key in numbers
                        for part in some[int(generator.integers(distinct))]
                    ],
                )
            add_to_totals(connection, {(metric, key): days * reports for key in numbers})
    store.close()
    return read, tokens[0]


def ask(path: str, read: str, write: str, question: str) -> dict[str, float]:
    """Asks one question in this process: processor seconds, cold, warm, and after an upload."""
    app = create_app(store=path)
    http = app.test_client()
    where, body = QUESTIONS[question]

    def answer() -> float:
        headers = {"Authorization": f"Bearer {read}"}
        start = time.process_time()
        method = "GET" if body is None else "POST"
        found = http.open(where, method=method, json=body, headers=headers)
        spent = time.process_time() - start
        assert found.status_code == 200, found.data[:500]
        return spent

    name = where.split("/")[3] if where.count("/") > 2 else "m0"
    declaration = STORES[store_of(question)]["declarations"][name]
    spec = registry.parse(registry_of({name: declaration})).metrics[name].spec
    report = randomizer_for(spec, Randomness()).report

    def after_an_upload() -> float:
        part = wire.Part(spec.digest, epoch_at(time.time()), report(spec.encode(VALUES[0]), SECRET))
        upload = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
        headers = {"Authorization": f"Bearer {write}", "Content-Type": wire.CONTENT_TYPE}
        sent = http.post("/v1/reports", data=upload, headers=headers)
        assert sent.status_code == 204, sent.data
        return answer()

    found = {
        "cold": answer(),
        "warm": statistics.median(answer() for _ in range(WARM)),
        "ingest": statistics.median(after_an_upload() for _ in range(WARM)),
        "peak": peak_megabytes(),
    }
    app.extensions[EXTENSION].close()
    return found


def peak_megabytes() -> float:
    """The most memory that this program has had, in MB.

    Not ``ru_maxrss``, which counts what the process had before it ran this program.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kilobytes) * 1024 / 1e6


def write_table(path: str) -> float:
    """Writes the SQL table of a store in this process: the most memory that this takes, in MB."""
    store = Store(path)
    writer = TableWriter(
        store,
        lengths=("week",),
        accept_days=2,
        retain_days=None,
        today=epoch_at(time.time()) + 1,
    )
    assert writer.write(anew=True).rows
    store.close()
    return peak_megabytes()


def register() -> float:
    """Processor seconds of registering 10,000 metrics of one registry in a store."""
    text = registry_of({f"m{number}": CATEGORY for number in range(REGISTERED)})
    with tempfile.TemporaryDirectory() as directory:
        app = create_app(store=Path(directory) / "store.db")
        running = app.extensions[EXTENSION]
        start = time.process_time()
        parsed = registry.parse(text)
        running.receiver._catalogue.register(parsed.metrics.values(), 20_000, "benchmark")
        spent = time.process_time() - start
        running.close()
    return spent


def store_of(question: str) -> str:
    """Which of the stores a question is asked of."""
    if question == "string estimate":
        return "strings"
    if "version" in question:
        return f"of {question.split()[0]}"
    if "strings" in question:
        return "weeks"
    if "50" in question:
        return "fifty"
    return "few" if question.endswith("few reports") else "year"


def measured(*arguments: str) -> Any:
    """What a fresh process finds."""
    command = [sys.executable, "-m", "benchmarks.questions", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as directory:
        stores: dict[str, tuple[str, ...]] = {}
        for kind, how in STORES.items():
            path = Path(directory) / f"{kind}.db"
            stores[kind] = str(path), *build(path, **how)
        print(f"{'processor seconds':<20}{'cold':>9}{'warm':>9}{'ingest':>9}{'peak, MB':>9}")
        cold = {}
        for question in QUESTIONS:
            found = measured("ask", *stores[store_of(question)], question)
            cold[question] = found["cold"]
            figures = "".join(f"{each:9.3f}" for each in list(found.values())[:-1])
            figures += f"{found['peak']:9.0f}"
            print(f"{question:<20}{figures}", flush=True)
        ratio = cold["20 versions by day"] / cold["1 version by day"]
        print(f"{'20 versions over 1':<20}{ratio:9.2f}", flush=True)
        print(f"{'10,000 registered':<20}{measured('register'):9.3f}")
        for kind in ("weeks", "sketch"):
            print(
                f"{'SQL table, ' + kind:<47}{measured('table', stores[kind][0]):9.0f}", flush=True
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", path, read, write, question]:
            print(json.dumps(ask(path, read, write, question)))
        case ["register"]:
            print(json.dumps(register()))
        case ["table", path]:
            print(json.dumps(write_table(path)))
        case _:
            main()
