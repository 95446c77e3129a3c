"""What RAPPOR says of strings, held and absent, with a common string listed or not.

For each population, number of devices and epsilon: the share of false ones among the strings
detected, how many of the strings that stand seven standard errors above zero are detected, how
often 95% intervals cover, and how wide they are. Tallies are drawn from their law, with another
hash family each time; the estimator is the shipped one.

    python -m benchmarks.rappor [--runs 40] [--absent 200] [--unlisted] [--reported 1]
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting import hash_cells
from deniable_shared.exact_bounds import SCALE
from deniable_shared.hashing import key
from deniable_shared.mechanisms import Rappor
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

POPULATIONS: Final = ("top .9", "top .6", "top .45", "top .3", "zipf 1.0", "zipf 1.5", "uniform")
EPSILONS: Final = ("0.5", "1", "2", "4")
DEVICES: Final = (10_000, 100_000, 1_000_000)
HELD: Final = 100
STRONG: Final = 7.0


class Found(NamedTuple):
    """What one answer was worth; fractions in [0, 1].

    Attributes:
        false: of the strings detected, those that nobody holds; 0 where none is detected.
        strong: of those held by more than seven standard errors, the detected ones; NaN for none.
        held: covered intervals of strings that are held.
        absent: covered intervals of the others.
        picked: covered intervals of the strings detected; 1 where none is.
        together: whether all intervals of the kind "all" cover at once.
        width: the mean width of intervals.
    """

    false: float
    strong: float
    held: float
    absent: float
    picked: float
    together: float
    width: float


def population(name: str, devices: int) -> NDArray[np.int64]:
    """How many devices hold each of 100 strings, the most common first."""
    kind, _, number = name.partition(" ")
    ranks = np.arange(1, HELD + 1)
    if kind == "top":
        weights = np.concatenate([[float(number)], ranks[:-1] ** -1.0])
        weights[1:] *= (1 - weights[0]) / weights[1:].sum()
    else:
        weights = ranks ** -(float(number) if kind == "zipf" else 0.0)
    held = np.floor(devices * weights / weights.sum()).astype(np.int64)
    held[0] += devices - held.sum()
    return np.asarray(held)


def drawn(
    spec: Spec,
    strings: Sequence[str],
    held: NDArray[np.int64],
    generator: np.random.Generator,
    reported: int = 1,
) -> NDArray[np.int64]:
    """A tally of devices of which `held[v]` hold string v, and each reported so many times.

    Args:
        spec: with RAPPOR.
        strings: what is held.
        held: int64, (strings,).
        generator: what it is drawn with.
        reported: how often each device reported its permanent bits.
    """
    mechanism = cast("Rappor", spec.mechanism)
    cohorts, bits = mechanism.cohorts, mechanism.bits
    even = np.full(cohorts, 1 / cohorts)
    of_cohorts = np.array([generator.multinomial(count, even) for count in held])
    words = hash_cells.words(strings, spec.salt)
    counts = np.zeros((cohorts, 1 + bits), np.int64)
    flip, lowest, highest = (x / SCALE for x in (mechanism.flip, mechanism.p, mechanism.q))
    for cohort in range(cohorts):
        filters = np.zeros((words.size, bits), bool)
        for index in range(mechanism.hashes):
            place = hash_cells.buckets(words, key(cohort * mechanism.hashes + index), bits)
            filters[np.arange(words.size), place] = True
        devices, setting = of_cohorts[:, cohort].sum(), of_cohorts[:, cohort] @ filters
        permanent = generator.binomial(setting, 1 - flip)
        permanent += generator.binomial(devices - setting, flip)
        ones = generator.binomial(permanent * reported, highest)
        ones += generator.binomial((devices - permanent) * reported, lowest)
        counts[cohort] = [devices * reported, *ones]
    return counts.ravel()


def measure(
    name: str,
    devices: int,
    epsilon: str,
    *,
    absent: int,
    listed: bool,
    reported: int,
    run: int,
) -> Found:
    """One answer about one population.

    Args:
        name: of the population.
        devices: how many there are.
        epsilon: of one report; that of all reports is twice it.
        absent: how many strings that nobody holds are asked for.
        listed: whether the most common string is asked for.
        reported: how often each device reported.
        run: the seed, and the hash family.
    """
    mechanism = Rappor.for_epsilons(Fraction(epsilon), 2 * Fraction(epsilon))
    spec = Spec("app", f"text{run}", "string", (), None, mechanism, "day")
    held = population(name, devices)
    strings = [f"held {index}" for index in range(HELD)]
    counts = drawn(spec, strings, held, np.random.default_rng(run), reported)
    skipped = 0 if listed else 1
    asked = strings[skipped:] + [f"absent {index}" for index in range(absent)]
    truth = np.concatenate([held[skipped:] / devices, np.zeros(absent)])
    true = dict(zip(asked, truth.tolist(), strict=True))
    periods = {spec.digest: dict.fromkeys(range(reported), devices)} if reported > 1 else None

    def covered(options: EstimateOptions) -> NDArray[np.bool_]:
        answer = estimate_shares([(spec, counts)], asked, options, periods=periods)
        actual = np.array([true[item] for item in answer.items])
        return (answer.low <= actual) & (actual <= answer.high)

    answer = estimate_shares([(spec, counts)], asked, periods=periods)
    inside = (answer.low <= truth) & (truth <= answer.high)
    strong = truth > STRONG * float(np.median(answer.standard_error[truth == 0]))
    picked = covered(EstimateOptions(detected=True))
    return Found(
        false=float(answer.detected[truth == 0].sum() / max(answer.detected.sum(), 1)),
        strong=float(answer.detected[strong].mean()) if strong.any() else float("nan"),
        held=float(inside[truth > 0].mean()),
        absent=float(inside[truth == 0].mean()),
        picked=float(picked.mean()) if picked.size else 1.0,
        together=float(covered(EstimateOptions(interval="all")).all()),
        width=float((answer.high - answer.low).mean()),
    )


def main() -> None:
    """Prints a line for each population, number of devices and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--absent", type=int, default=200)
    parser.add_argument("--unlisted", action="store_true", help="the most common is not asked for")
    parser.add_argument("--reported", type=int, default=1, help="how often each device reports")
    asked = parser.parse_args()
    print("population  devices  eps  " + "  ".join(f"{field:>14}" for field in Found._fields))
    everything = []
    for name in POPULATIONS:
        for devices in DEVICES:
            for epsilon in EPSILONS:
                found = [
                    measure(
                        name,
                        devices,
                        epsilon,
                        absent=asked.absent,
                        listed=not asked.unlisted,
                        reported=asked.reported,
                        run=run,
                    )
                    for run in range(asked.runs)
                ]
                everything += found
                print(f"{name:10} {devices:8} {epsilon:>4}  {_line(found)}", flush=True)
    print(f"all {len(everything):6} answers         {_line(everything)}")


def _line(found: Sequence[Found]) -> str:
    """Means and their standard errors."""
    columns = np.array(found).T
    cells = []
    for column in columns:
        known = column[~np.isnan(column)]
        error = known.std() / np.sqrt(max(known.size, 1)) if known.size else 0.0
        cells.append(f"{known.mean():7.4f} ±{error:6.4f}" if known.size else f"{'-':>15}")
    return " ".join(cells)


if __name__ == "__main__":
    main()
