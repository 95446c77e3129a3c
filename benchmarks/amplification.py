"""The worst that uploads can do: bytes stored and written for each byte that was accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.filling import Cost, FilledStore
from benchmarks.storage import CATEGORY, MB, STRING, honest_reports
from benchmarks.timing import Row, at_most
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN_DAYS: Final = range(-14, 2)
UPLOADS: Final = 1_000
FLAG: Final = 'type = "boolean"\nepsilon = 1.0\n'
MEMOIZED: Final = 'type = "string"\nepsilon = 1.0\nrepeat = "memoize"\nepsilon_permanent = 2.0\n'
LONG: Final = CATEGORY + 'mechanism = { name = "oue" }\n'


class Attack(NamedTuple):
    """A thousand uploads.

    Attributes:
        name: what they are.
        text: the table of every metric.
        metrics: how many metrics they name.
        parts: how many parts an upload has: of another metric or day each.
        reports: how many reports a part has.
        pause: seconds between two commits.
        together: how many uploads a commit has.
    """

    name: str
    text: str
    metrics: int
    parts: int
    reports: int
    pause: float
    together: int = 10


ATTACKS: Final = (
    Attack("one string report for each of 1,000 metrics and 16 days", STRING, 1_000, 16, 1, 1.0),
    Attack("the same, of flags", FLAG, 1_000, 16, 1, 1.0),
    Attack("lone flags, one in a minute", FLAG, 1, 1, 1, 60.0, 1),
    Attack("lone flags of 1,000 metrics", FLAG, 1_000, 1, 1, 1.0),
    Attack("lone flags of 1,000 metrics, one in a minute", FLAG, 1_000, 1, 1, 60.0, 1),
    Attack("lone strings of 1,000 metrics, one in a minute", STRING, 1_000, 1, 1, 60.0, 1),
    Attack("300 bytes of strings for each of 60 metrics and 16 days", STRING, 60, 1, 75, 1.0),
    Attack("2,100 bytes of strings for each of 60 metrics and 16 days", STRING, 60, 1, 525, 1.0),
    Attack("1,100 bytes of memoised strings", MEMOIZED, 60, 1, 16, 1.0),
    Attack("lone memoised strings of 1,000 metrics", MEMOIZED, 1_000, 16, 1, 1.0),
    Attack("300 bytes of strings to one metric, in each fold", STRING, 1, 1, 75, 60.0, 1),
    Attack("4 kB of strings to one metric, in each fold", STRING, 1, 1, 1_000, 60.0, 1),
    Attack("20 kB of strings to one metric, in each fold", STRING, 1, 1, 5_000, 60.0, 1),
    Attack("200 kB of strings to one metric, in each fold", STRING, 1, 1, 50_000, 60.0, 1),
    Attack("2 kB of oue over 16 values to one metric, in each fold", LONG, 1, 1, 1_000, 60.0, 1),
)


def rows(attacks: tuple[Attack, ...] = ATTACKS) -> Iterator[Row]:
    """What every attack costs, and the worst of them."""
    stored = written = 0.0
    for attack in attacks:
        full = run(attack)
        share, folding = full.stored / full.accepted, full.folding / full.accepted
        stored, written = max(stored, share), max(written, folding)
        yield Row(f"{attack.name}: accepted", full.accepted / MB, "MB")
        yield at_most("  stored over accepted", share, "times", 4)
        yield at_most("  written by folds over accepted", folding, "times", 10)
        yield Row("  all that was written over accepted", full.written / full.accepted, "times")
    yield at_most("the worst of these: stored over accepted", stored, "times", 4)
    yield at_most("the worst of these: written by folds over accepted", written, "times", 10)


def run(attack: Attack) -> Cost:
    """Sends the uploads of an attack, and lets their days be closed and settled.

    Args:
        attack: which.
    """
    names = [f"m{number}" for number in range(attack.metrics)]
    tables = "".join(f"[metrics.{name}]\n{attack.text}" for name in names)
    with FilledStore(tables) as filled:
        reports = honest_reports(filled.specs["m0"], max(1_000, attack.reports))
        where = [(name, day) for name in names for day in OPEN_DAYS] if attack.parts > 1 else None
        group, number = [], 0
        for upload in range(min(UPLOADS, 120 if attack.reports >= 5_000 else UPLOADS)):
            parts = []
            for _ in range(attack.parts):
                name, day = (
                    (names[number % len(names)], 0 if len(names) == 1 else OPEN_DAYS[upload % 16])
                    if where is None
                    else where[number % len(where)]
                )
                start = number % (len(reports) - attack.reports + 1)
                payload = reports[start : start + attack.reports].tobytes()
                parts.append(wire.Part(filled.specs[name].digest, filled.today + day, payload))
                number += 1
            group.append(parts)
            if len(group) == attack.together:
                filled.send(*group)
                group = []
                filled.wait(attack.pause)
        filled.wait(700)
        before = filled.cost()
        filled.wait_days(16)
        after = filled.cost()
    return after._replace(stored=max(before.stored, after.stored))
