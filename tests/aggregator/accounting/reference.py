"""Asks dp_accounting (Google) what the same reports cost; a program of an environment of its own.

Reads JSON: of each question delta and its parts, each the weights of outcomes under two values and
how many reports there are. Prints for each the epsilon below and above which the truth lies.
"""

from __future__ import annotations

import json
import math
import sys

from dp_accounting.pld import privacy_loss_distribution as pld

INTERVAL = 1e-4


def epsilon(parts, delta, *, pessimistic):
    together = None
    for own, other, reports in parts:
        # It composes log_mass_lower with log_mass_upper: losses are ln(upper / lower).
        one = pld.from_two_probability_mass_functions(
            *(
                {index: math.log(weight) for index, weight in enumerate(each)}
                for each in (other, own)
            ),
            pessimistic_estimate=pessimistic,
            value_discretization_interval=INTERVAL,
        ).self_compose(reports)
        together = one if together is None else together.compose(one)
    return together.get_epsilon_for_delta(delta)


if __name__ == "__main__":
    answers = [
        [epsilon(parts, delta, pessimistic=each) for each in (False, True)]
        for parts, delta in json.load(sys.stdin)
    ]
    sys.stdout.write(json.dumps(answers))
