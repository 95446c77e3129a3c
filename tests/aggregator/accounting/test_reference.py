"""The same reports, asked of somebody else's accountant: dp_accounting, in its own environment.

It pins other versions of what is installed here, so ``make test PART=accountant`` makes an
environment.
"""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from deniable_aggregator.counting.composition import compose
from deniable_shared.accounting import profile_of
from deniable_shared.mechanisms import DBitFlip, SampledAttribute
from tests.aggregator.accounting.test_composition import arrays, mechanisms

PYTHON = Path(__file__).parents[3] / ".venv-accountant" / "bin" / "python"
DAYS = ((30, 1e-6), (365, 1e-6), (365, 1e-8))


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="make test PART=accountant")
def test_figures_are_those_of_another_accountant():
    """Between its optimistic and its pessimistic figure, each of a grid of 1e-4, or hardly above.

    Of the discrete mechanisms, for a month and a year, and of all of them together. "Hardly above"
    is asked without the allowance for the rounding of floats, which the other accountant has not.
    """
    known = {name: each for name, each in mechanisms(Fraction(1)).items() if name != "gaussian"}
    known["dbitflip"] = DBitFlip.for_epsilon(32, Fraction(1))
    known["smp"] = SampledAttribute(inner=(known["rr"], known["grr 8"]))
    questions = [([(each, days)], delta) for each in known.values() for days, delta in DAYS]
    questions.append(([(each, 30) for each in known.values()], 1e-6))
    asked = [
        [[[*_columns(each), days] for each, days in parts], delta] for parts, delta in questions
    ]
    answered = subprocess.run(
        [PYTHON, "-I", str(Path(__file__).with_name("reference.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    for (parts, delta), (low, high) in zip(questions, json.loads(answered.stdout), strict=True):
        found = compose([(arrays(profile_of(each)), days) for each, days in parts])
        figure, bare = found.epsilon_at(delta), found.epsilon_at(delta, allowing=False)
        names = [each.name for each, _ in parts]
        assert low - 1e-6 <= figure, (names, delta, low, figure)
        assert bare <= high * (1 + 2e-5), (names, delta, bare, high)


def _columns(mechanism):
    classes = mechanism.losses()
    return [float(own) for own, _ in classes], [float(other) for _, other in classes]
