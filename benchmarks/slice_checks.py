"""What checks, contrasts of keys and medians of slices cost, by mechanism, without a store.

`python -m benchmarks.slice_checks` makes tables of slices in memory, each what one key brought on
one day, and prints processor seconds: of the first answer that needs them, and of the next one.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.inputs import MetricReports
from deniable_aggregator.answering.integrity import report
from deniable_aggregator.answering.integrity.contrasts import KeyComparison
from deniable_aggregator.answering.integrity.examiner import Examiner
from deniable_aggregator.answering.integrity.slice_medians import SliceMedians
from deniable_aggregator.answering.slices import BlockTotals, SliceTable
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.counting.tallies import ShareTally, tally_for
from deniable_shared import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_shared.spec import Spec

FIRST: Final = 20_000
DISTINCT: Final = 8
"""So many different slices are drawn of each metric."""

SECRET: Final = bytes(32)
HEAD: Final = """registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.m]
"""


class Case(NamedTuple):
    """Slices of one metric.

    Attributes:
        declaration: the metric.
        values: what devices hold.
        days: how many days there are.
        keys: how many keys.
        reports: of a slice.
    """

    declaration: str
    values: list[Any]
    days: int = 365
    keys: int = 100
    reports: int = 1_200


def category(mechanism: str, size: int, **sizes: int) -> Case:
    """A category at epsilon 1."""
    values = [f"value {number}" for number in range(size)]
    declaration = f'type = "category"\nepsilon = 1.0\ncomplete = true\nvalues = {values}\n'
    return Case(f'{declaration}mechanism = "{mechanism}"\n', values, **sizes)


WORDS: Final = [f"word {number}" for number in range(20)]
STRING: Final = 'type = "string"\nepsilon = 2.0\nexpected_devices = 100_000\n'
CASES: Final = {
    "grr, 16 values": category("grr", 16),
    "ss, 16 values": category("ss", 16),
    "oue, 16 values": category("oue", 16),
    "rhr, 16 values": category("rhr", 16),
    "oue, 64 values": category("oue", 64, keys=10),
    "olh, 1,000 values": category("olh", 1_000, keys=10, reports=300),
    "dbitflip, 32 bins": Case(
        'type = "distribution"\nrange = [0, 32]\nbins = 32\nepsilon = 1.0\n'
        'mechanism = "dbitflip"\n',
        list(range(32)),
    ),
    "string sketch": Case(STRING, WORDS, days=10, keys=3, reports=300),
}


def table_of(spec: Spec, case: Case) -> SliceTable:
    """A table of slices that are drawn from a few."""
    tally, generator = tally_for(spec), np.random.default_rng(1)
    draw = randomizer_for(spec, Randomness()).report
    encoded = [spec.encode(value) for value in case.values]
    some = []
    for _ in range(DISTINCT):
        held = generator.integers(0, len(encoded), case.reports).tolist()
        some.append(tally.fold(b"".join(draw(encoded[place], SECRET) for place in held))[1])
    slices = case.days * case.keys
    epochs = np.repeat(np.arange(FIRST, FIRST + case.days, dtype=np.int32), case.keys)
    keys = np.tile(np.arange(case.keys, dtype=np.int32), case.days)
    entry: Any = SimpleNamespace(spec=spec, tally=tally)
    stamps: Any = {day: day for day in range(FIRST, FIRST + case.days)}
    return SliceTable(
        entry=entry,
        epochs=epochs,
        keys=keys,
        key_ids=tuple(f"{number:012x}" for number in range(case.keys)),
        reports=np.full(slices, case.reports),
        stamps=stamps,
        counters=np.array(some, np.int32)[generator.integers(0, DISTINCT, slices)],
        read_slices=lambda *_: iter(()),
        kept_totals=BlockTotals(),
        largest=np.ones(slices, np.int64),
    )


def spent(act: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds of doing it for the first time, and again."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return seconds[0], seconds[1]


def measured(case: Case) -> str:
    """A line of the table."""
    spec = registry.parse(HEAD + case.declaration).metrics["m"].spec
    table, days = table_of(spec, case), DayRange(FIRST_DAY, LAST_DAY)
    reported = MetricReports([table.entry], days, {spec.digest: table}, (), {}, frozenset())
    items = spec.items or case.values
    rows: Any = [SimpleNamespace(value=item, standard_error=0.001) for item in items]
    examiner, comparison, medians = Examiner(), KeyComparison(), SliceMedians()
    found = [
        spent(lambda: examiner.examine(reported, most_cells=1 << 40)),
        spent(lambda: comparison.compare(reported)),
    ]
    if isinstance(table.entry.tally, ShareTally):
        found.append(spent(lambda: medians.robust_checks(reported, rows, 0.95)))
    else:
        found.append((0.0, 0.0))
    examined = examiner.examine(reported, most_cells=1 << 40)
    health, _ = spent(lambda: msgspec.json.encode(report.by_day(examined, {})))
    figures = "".join(f"{first:8.3f}{again:6.3f}" for first, again in found)
    return f"{len(table):7,}{figures}{health:9.3f}"


def main() -> None:
    """Prints the table."""
    print(f"{'':<19}{'slices':>7}{'checks':>14}{'contrasts':>14}{'medians':>14}{'as JSON':>9}")
    for name, case in CASES.items():
        print(f"{name:<19}{measured(case)}", flush=True)


if __name__ == "__main__":
    main()
