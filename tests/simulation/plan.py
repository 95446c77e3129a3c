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

FAULTY = {"commit": 0.4, "fold": 0.6, "maintain": 0.6, "exclude": 0.4, "move": 0.7}
"""The share of steps of a kind that have a fault."""

LATENESS = {"commit": 3, "fold": 6, "maintain": 12, "exclude": 3, "move": 20}
"""After how many points a fault strikes, on average; in half of the cases the average is 3."""


class Fault(NamedTuple):
    """A fault.

    Attributes:
        kind: one of `FAULTS`.
        after: how many points of the step come before it.
    """

    kind: str
    after: int


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
        wrong = "" if self.fault is None else f", {self.fault.kind} after {self.fault.after} points"
        return f"{self.kind}{wrong}"


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
        mean = drawn.choice((3, LATENESS[kind]))
        fault = Fault(what, int(drawn.expovariate(1 / mean)))
    return Step(kind, seed, fault)
