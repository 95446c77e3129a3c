"""What stores cost: bytes on disk and bytes written, beside what was accepted.

`python -m benchmarks.storage` fills stores in files as servers do (real uploads, folds and
maintenance on a clock that is moved) and writes build/storage.json. Sizes are those of the file
after its log was copied into it; written bytes are those of this process, by Linux's count.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Console

from benchmarks.__main__ import ROOT, table
from benchmarks.filling import FilledStore
from benchmarks.timing import Row, at_most
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store.encoding import encode_counters, encode_reports, join_reports
from deniable_shared import registry, wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

OUTPUT: Final = ROOT / "build" / "storage.json"
DEVICES: Final = 200_000
MONTH: Final = 30
YEAR: Final = 365
HOURS: Final = 24
SECRET_BYTES: Final = 32
STRING: Final = 'type = "string"\nepsilon = 4.0\n'
VALUES: Final = json.dumps([f"value {number}" for number in range(16)])
CATEGORY: Final = f'type = "category"\nvalues = {VALUES}\ncomplete = true\nepsilon = 1.0\n'
MB: Final = 1e6

BOUNDED: Final = {
    "string": STRING,
    "string, epsilon 1": 'type = "string"\nepsilon = 1.0\n',
    "string, discovered": STRING + "discover = true\n",
    "category of 16": CATEGORY,
    "category of 16, oue": CATEGORY + 'mechanism = { name = "oue" }\n',
    "category of 16, olh": CATEGORY + 'mechanism = { name = "olh" }\n',
    "flag": 'type = "boolean"\nepsilon = 1.0\n',
    "number": 'type = "number"\nrange = [0, 100]\nepsilon = 1.0\n',
    "distribution": 'type = "distribution"\nrange = [0, 100]\nbins = 32\nepsilon = 1.0\n',
    "RAPPOR": 'type = "string"\nepsilon = 2.0\nrepeat = "memoize"\nepsilon_permanent = 3.0\n'
    'mechanism = { name = "rappor" }\n',
}
NUMBERS: Final = (1, 3, 10, 30, 100, 300, 1_000, 10_000, 100_000, 1_000_000)
SLICES: Final = 60
"""So many days of each number of reports, as long as they are not too many."""

MOST_REPORTS: Final = 2_000_000


def honest_reports(spec: Spec, number: int, seed: int = 1) -> NDArray[np.void]:
    """Reports of devices that hold a common value or a rare one: void, (number,)."""
    report = randomizer_for(spec, Randomness()).report
    drawn = np.random.default_rng(seed)
    held = drawn.zipf(1.5, number)
    if spec.type in ("number", "distribution"):
        items = [spec.encode(float(value)) for value in range(100)]
    elif spec.type == "boolean":
        items = [spec.encode(value) for value in (True, False)]
    elif spec.type == "category":
        items = [spec.encode(value) for value in spec.values]
    else:
        items = [spec.encode(f"value {value}") for value in range(3_000)]
    made = [report(items[int(each) % len(items)], drawn.bytes(SECRET_BYTES)) for each in held]
    return np.frombuffer(b"".join(made), f"V{spec.mechanism.report_bytes}")


def month_of_strings() -> Iterator[Row]:
    """One string metric of 200,000 devices a day, whose uploads come by the hour."""
    with FilledStore(f"[metrics.word]\n{STRING}") as filled:
        spec = filled.specs["word"]
        reports = honest_reports(spec, DEVICES)
        for _ in range(MONTH):
            for hour in np.array_split(reports, HOURS):
                filled.send([wire.Part(spec.digest, filled.today, hour.tobytes())])
                filled.wait(60)
            filled.wait_days(1)
        cost = filled.cost()
        sizes = filled.rows("SELECT count(*), sum(size) FROM tallies")
    (slices, size), name = sizes[0], "a string metric, 200,000 devices, 30 days"
    yield at_most(f"{name}: file", cost.stored / MB, "MB", 40)
    yield Row(f"{name}: written", cost.written / MB, "MB")
    yield Row(f"{name}: a slice", size / slices / 1e3, "kB")
    year = YEAR * 10 * cost.stored / slices / 1e9
    yield at_most("a year of it with 10 keys, computed", year, "GB", 5)


def year_of_categories(metrics: int = 1_000, devices: int = 1_000) -> Iterator[Row]:
    """Many categories, each reported by some devices on every day of a year."""
    names = [f"m{number}" for number in range(metrics)]
    with FilledStore("".join(f"[metrics.{name}]\n{CATEGORY}" for name in names)) as filled:
        reports = honest_reports(filled.specs["m0"], 50 * devices)
        drawn = np.random.default_rng(1)
        for _ in range(YEAR):
            parts = []
            for name in names:
                start = int(drawn.integers(len(reports) - devices))
                payload = reports[start : start + devices].tobytes()
                parts.append(wire.Part(filled.specs[name].digest, filled.today, payload))
            for some in range(0, metrics, wire.MAX_PARTS):
                filled.send(parts[some : some + wire.MAX_PARTS])
            filled.wait_days(1)
        cost = filled.cost()
    name = f"{metrics:,} categories of 16, {devices:,} devices, 365 days"
    yield at_most(f"{name}: file", cost.stored / MB, "MB", 60)
    yield Row(f"{name}: written", cost.written / MB, "MB")


def small_uploads() -> Iterator[Row]:
    """One report every half second, on a slice that already has many."""
    name = "195 uploads of a string report in 100 s"
    with FilledStore(f"[metrics.word]\n{STRING}") as filled:
        spec = filled.specs["word"]
        for number, report in enumerate(honest_reports(spec, 195)):
            day = filled.today - number % 2
            filled.send([wire.Part(spec.digest, day, report.tobytes())])
            filled.wait(100 / 195)
        commits = filled.cost()
        filled.wait(1_000)
        cost = filled.cost()
    yield at_most(f"{name}: written", cost.written / MB, "MB", 20)
    yield Row(f"{name}: by commits alone", commits.written / MB, "MB")


def bounds() -> Iterator[Row]:
    """What a settled slice takes over the smaller of its two forms, in rows of the database."""
    for kind, text in BOUNDED.items():
        worst, at, most, most_at = 0.0, 0, 0.0, 0
        spec = next(iter(registry_of(text).values()))
        reports = honest_reports(spec, NUMBERS[-1])
        for number in NUMBERS:
            stored, least = slice_bytes(text, spec, reports, number)
            share = (stored - 40) / least
            if share > worst:
                worst, at = share, number
            if stored - 1.2 * least > most:
                most, most_at = stored - 1.2 * least, number
        yield at_most(
            f"{kind}: beyond 40 bytes, over the smaller form (at {at:,})", worst, "times", 1.2
        )
        yield at_most(f"{kind}: beyond 1.2 times that (at {most_at:,})", most, "bytes", 40)


def slice_bytes(
    text: str, spec: Spec, reports: NDArray[np.void], number: int, slices: int = SLICES
) -> tuple[float, float]:
    """Bytes of the tables for each slice, and of the smaller form, of so many reports a slice."""
    slices = max(1, min(slices, MOST_REPORTS // number))
    tally, leasts = tally_for(spec), []
    with FilledStore(f"[metrics.m]\n{text}") as filled:
        # The digest of a metric follows from its spec, so the registered one is this one.
        digest = filled.specs["m"].digest
        for place in range(slices):
            start = place * number % max(1, len(reports) - number + 1)
            payload = reports[start : start + number].tobytes()
            packed = join_reports([payload], tally.report_bytes)
            counted = tally.fold(packed)[1]
            leasts.append(
                min(
                    len(packed),
                    len(encode_reports(packed, tally.report_bytes)),
                    len(encode_counters(counted, tally.cells)),
                )
            )
            filled.send([wire.Part(digest, filled.today, payload)])
            filled.wait_days(1)
        filled.wait_days(20)
        (stored,) = filled.rows(
            # A cell has two bytes of its page beside its content, and its length.
            "SELECT sum(payload + 4 * ncell) FROM dbstat WHERE name IN ('tallies', 'tally_rests') "
            "AND pagetype != 'internal'"
        )
    return stored[0] / slices, float(np.mean(leasts))


def registry_of(text: str) -> dict[str, Spec]:
    """The specs of one metric table."""
    from benchmarks.filling import HEAD

    parsed = registry.parse(f"{HEAD}[metrics.m]\n{text}").metrics
    return {name: metric.spec for name, metric in parsed.items()}


def main() -> None:
    """Measures, prints and writes."""
    console = Console(highlight=False)
    rows: list[Row] = []
    from benchmarks import amplification  # uses this module

    sections = (small_uploads, bounds, month_of_strings, amplification.rows, year_of_categories)
    for section in sections:
        with console.status(f"measuring {section.__name__.replace('_', ' ')}"):
            rows += section()
    console.print(table(rows))
    OUTPUT.parent.mkdir(exist_ok=True)
    document: dict[str, Any] = {"rows": [asdict(row) for row in rows]}
    OUTPUT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    console.print(f"Written to {OUTPUT.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
