"""The steps of one run, drawn from a seed. Any of them can be left out."""

from __future__ import annotations

import random
from typing import NamedTuple

STEPS = 45

KINDS = {
    "send": 30,
    "resend": 14,
    "commit": 26,
    "fold": 13,
    "maintain": 9,
    "age": 3,
    "clock": 6,
    "exclude": 3,
    "poison": 2,
    "question": 7,
    "kill": 2,
    "restart": 2,
    "move": 1,
    "backup": 2,
    "restore": 2,
}
"""How often each kind of step is drawn."""

FAULTS = {
    "crash": 8,
    "power": 5,
    "failure": 5,
    "switch": 7,
    "database": 2,
}
"""How often each kind of fault is drawn: one server dies; all of them do; the store reports a
failure; another server acts in between; the database restarts."""

FAULTY = {"commit": 0.4, "fold": 0.6, "maintain": 0.6, "age": 0.8, "exclude": 0.4, "move": 0.7}
"""The share of steps of a kind that have a fault."""

AIMS = {
    "commit": (
        "after the days' keys",
        "after remembering",
        "after appending",
        "before commit of ingest",
        "after commit of ingest",
    ),
    "fold": (
        "after DELETE inbox",
        "after INSERT tallies",
        "after INSERT set_aside",
        "after DELETE tallies",
        "after commit",
    ),
    "maintain": (
        "after UPDATE epochs",
        "after DELETE seen",
        "before purge",
        "after commit",
    ),
    "age": ("after DELETE tallies", "after INSERT totals", "after commit"),
    "exclude": ("before commit", "after commit"),
    "move": ("after reading", "after INSERT seen", "before commit"),
}
"""Points at which faults are aimed. Left to chance alone, they would strike a step's first points
and hardly ever the few changes among hundreds of points at which something is only read."""

ANYWHERE, AIMED = 3.0, 1.0
"""How many points a fault lets pass, on average: of all points, in half of the cases, and in the
others of those at which it is aimed."""


class Fault(NamedTuple):
    """A fault.

    Attributes:
        kind: one of `FAULTS`.
        after: how many points of the step come before it.
        at: the name of the points that are counted, or None: all of them.
    """

    kind: str
    after: int
    at: str | None


class Step(NamedTuple):
    """One step of a run.

    Attributes:
        kind: one of `KINDS`.
        seed: for all draws within the step, so that no step depends on another one.
        fault: its fault, or None.
    """

    kind: str
    seed: int
    fault: Fault | None

    def __str__(self) -> str:
        if self.fault is None:
            return self.kind
        kind, after, at = self.fault
        return f"{self.kind}, {kind} at number {after + 1} of all points {at or ''}".rstrip()


def plan(seed: int, steps: int = STEPS) -> list[Step]:
    """The steps of a seed.

    Args:
        seed: any number.
        steps: how many.
    """
    drawn = random.Random(seed)
    return [_step(drawn) for _ in range(steps)]


def _step(drawn: random.Random) -> Step:
    (kind,) = drawn.choices(list(KINDS), list(KINDS.values()))
    seed = drawn.getrandbits(64)
    fault = None
    if drawn.random() < FAULTY.get(kind, 0.0):
        (what,) = drawn.choices(list(FAULTS), list(FAULTS.values()))
        at = drawn.choice((None, drawn.choice(AIMS[kind])))
        after = drawn.expovariate(1 / (AIMED if at else ANYWHERE))
        fault = Fault(what, int(after), at)
    return Step(kind, seed, fault)
