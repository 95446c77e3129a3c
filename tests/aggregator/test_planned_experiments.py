"""As many devices as `deniable plan --experiment` says tell a difference in 8 of 10 experiments."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.change import change, change_of
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answering.estimation.segment_differences import compare_segments
from deniable_aggregator.answers.questions import ChangeQuery, CompareQuery
from deniable_shared.commands import plan as plan_command
from deniable_shared.errors import DeniableError
from deniable_shared.mechanism_choice import oracle_for
from deniable_shared.planning.experiment import experiment
from tests.aggregator.simulated import drawn
from tests.aggregator.simulated import spec_of as spec_of_category
from tests.privacy.test_segments import segmented

DIFFERENCE = 0.04
REPETITIONS = 250
EPSILON = Fraction(3)
PLANNED = experiment(DIFFERENCE, 2, oracle_for(4, EPSILON), oracle_for(2, EPSILON))


def found_by_segment(devices, generator):
    """Whether a difference between two arms that are segments is clear."""
    spec = segmented("a b", "x y", oracle_for(4, EPSILON))
    held = np.array([0.5 - DIFFERENCE / 2, 0.5 + DIFFERENCE / 2, 0.5 + DIFFERENCE / 2,
                     0.5 - DIFFERENCE / 2]) / 2  # fmt: skip
    counts = drawn(spec, generator.multinomial(devices, held), generator)
    tallies = CollectedTallies([(spec, counts)], {spec.digest: {0: devices}})
    request = ChangeRequest(CompareQuery(segment=("x", "y")))
    comparison = compare_segments(tallies, ("x", "y"), request)
    return told(change_of(comparison, tallies, tallies, request))


def found_by_key(devices, generator):
    """The same if each arm has a key, and so a tally, of its own."""
    spec = spec_of_category(oracle_for(2, EPSILON).name, 2, EPSILON)
    sides = []
    for at, sign in enumerate((-1, 1)):
        held = np.array([0.5 + sign * DIFFERENCE / 2, 0.5 - sign * DIFFERENCE / 2])
        counts = drawn(spec, generator.multinomial(devices // 2, held), generator)
        sides.append(CollectedTallies([(spec, counts)], {spec.digest: {at: devices // 2}}))
    days = ChangeQuery(before="2026-01-01", after="2026-01-02")
    return told(change(*sides, ChangeRequest(days)))


def told(result):
    return any(each.told for each in result.numbers() if each.measure == "difference in share")


@pytest.mark.audit
@pytest.mark.statistics
@pytest.mark.parametrize(
    ("found", "devices"),
    [(found_by_segment, PLANNED.by_segment), (found_by_key, PLANNED.by_key)],
)
def test_a_planned_experiment_finds_its_difference_in_8_of_10(found, devices):
    """The standard error is .025; with six tenths of the devices the power is about .58."""
    generator = np.random.default_rng(7)
    power, less = (
        np.mean([found(round(part * devices), generator) for _ in range(REPETITIONS)])
        for part in (1, 0.6)
    )
    assert power == pytest.approx(0.8, abs=0.075)
    assert less < 0.68


def test_the_cells_of_the_segment_are_counted_and_cost_devices(capsys):
    options = ["--type", "category", "--values", "8", "--epsilon", "2", "--experiment", "--json"]
    assert plan_command.run(plan_command.parser().parse_args(options)) == 0
    (planned,) = json.loads(capsys.readouterr().out)["plans"]
    found = planned["experiment"]
    assert (found["difference"], found["cells"]) == (0.02, 16)
    assert found["by_segment"] > 2 * found["by_key"] > 0


def test_a_number_has_no_experiment_of_points():

    options = ["--type", "number", "--range", "0", "9", "--epsilon", "2", "--experiment"]
    with pytest.raises(DeniableError, match="experiment must be left out"):
        plan_command.run(plan_command.parser().parse_args(options))
