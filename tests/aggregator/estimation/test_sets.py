from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.inputs import CollectedTallies, EstimateRequest
from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import PrivSet
from deniable_shared.spec import Spec
from tests.privacy.conformance import secret_of, seeded

ITEMS = tuple(f"item{number}" for number in range(12))


def set_spec(size=12, most=3, epsilon="1", other=None):
    mechanism = PrivSet.for_epsilon(size, most, Fraction(epsilon))
    return Spec("tests", "plugins", "set", ITEMS[:size], other, mechanism, "day")
