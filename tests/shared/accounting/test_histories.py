"""What is printed of histories that change, beside the worst pair of histories: all are tried."""

from __future__ import annotations

import itertools
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from deniable_aggregator.counting.account import account_of
from deniable_aggregator.doors.cli.account_text import account_lines
from deniable_shared import registry
from deniable_shared.accounting.histories import history_bounds
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import MECHANISMS

HEAD = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.kept]
epsilon = {epsilon}
epsilon_permanent = {permanent}
repeat = "memoize"
expected_devices = 1000
"""
METRICS = {
    "flag": 'type = "boolean"\nmechanism = "lgrr"\n',
    "lgrr": 'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true\nmechanism = "lgrr"\n',
    "losue": 'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true\nmechanism = "losue"\n',
    "lduchi": 'type = "number"\nrange = [0, 1]\nmechanism = "lduchi"\n',
    "steps": 'type = "number"\nrange = [0, 1]\nmechanism = { name = "lduchi", steps = 2 }\n',
    "ldbitflip": 'type = "distribution"\nrange = [0, 1]\nbins = 4\nmechanism = "ldbitflip"\n',
    "buckets": 'type = "distribution"\nrange = [0, 1]\nbins = 3\n'
    'mechanism = { name = "ldbitflip", buckets = 2 }\n',
    "rappor": 'type = "string"\nmechanism = { name = "rappor", bits = 8, hashes = 1 }\n',
    "lopsided": 'type = "string"\n'
    'mechanism = { name = "rappor", bits = 8, hashes = 1, f = 0.5, p = 0.3, q = 0.8 }\n',
    "sketch": 'type = "string"\nmechanism = { name = "sketch", buckets = 3, inner = "losue" }\n',
    "loloha": 'type = "string"\nmechanism = { name = "loloha", buckets = 3 }\n',
}
EPSILONS = [(2.0, 2.4), (2.0, 4.0), (3.0, 6.0)]
TIMES = 4
"""Periods of a history."""


class Cell(NamedTuple):
    """A part of a permanent answer that is independent of the others, and how it is reported.

    Attributes:
        laws: of each class of values, the probabilities of the permanent outcomes.
        reports: of each permanent outcome, the probabilities of what is reported.
    """

    laws: list[list[float]]
    reports: list[list[float]]


def bit(ones, flip_up, flip_down):
    laws = [[1 - one, one] for one in ones]
    return Cell(laws, [[1 - flip_up, flip_up], [flip_down, 1 - flip_down]])


def cells_of(mechanism):
    """What docstrings and documents say of a mechanism, written once more."""
    one = {name: value / SCALE for name, value in mechanism.parameters().items() if name != "inner"}
    if mechanism.name == "sketch":
        return cells_of(mechanism.inner)
    if mechanism.name == "lgrr":
        size = mechanism.size

        def item(other):
            rows = range(size)
            own = 1 - (size - 1) * other
            return [[own if row == column else other for column in rows] for row in rows]

        return [Cell(item(one["permanent_other"]), item(one["other"]))]
    if mechanism.name == "losue":
        size, flip = mechanism.size, one["flip"]
        places = range(size)
        return [
            bit([0.5 if each == place else one["permanent_other"] for each in places], flip, flip)
            for place in places
        ]
    if mechanism.name == "lduchi":
        lie, steps = one["permanent"], mechanism.steps
        ones = [lie + (1 - 2 * lie) * point / steps for point in range(steps + 1)]
        return [bit(ones, one["flip"], one["flip"])]
    if mechanism.name == "ldbitflip":
        lie, flip, bins = one["permanent"], one["flip"], range(mechanism.buckets)
        things = [*bins, *([None] if mechanism.buckets < mechanism.size else [])]
        return [
            bit([1 - lie if thing == place else lie for thing in things], flip, flip)
            for place in bins
        ]
    assert mechanism.name == "rappor"
    lie = one["flip"]
    strings = range(2)  # of which each has a bit of its own
    return [
        bit(
            [1 - lie if place == string else lie for string in strings],
            one["p"],
            1 - one["q"],
        )
        for place in range(mechanism.bits)
    ]


def classes_of(cells):
    return len(cells[0].laws)


def chances(cell, histories, times):
    """Of each history and of all that a cell can report; each permanent answer is drawn once."""
    every = list(itertools.product(range(len(cell.reports[0])), repeat=times))
    said, reports = np.array(every), np.array(cell.reports)
    found = np.ones((len(histories), len(every)))
    for row, history in enumerate(histories):
        for each in set(history):
            at = [time for time, value in enumerate(history) if value == each]
            given = np.array([answer[said[:, at]].prod(axis=1) for answer in reports])
            found[row] *= np.array(cell.laws[each]) @ given
    return found


def losses(cells, histories, times):
    """The worst loss of every two: cells are independent, so each has its own worst reports."""
    total = np.zeros((len(histories), len(histories)))
    for cell in cells:
        logarithms = np.log(chances(cell, histories, times))
        total += (logarithms[:, None, :] - logarithms[None, :, :]).max(axis=2)
    return total


def changes(history):
    return sum(one != other for one, other in itertools.pairwise(history))


def alike(first, second):
    """Whether the same reports share permanent answers."""
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


def spec_of(name, epsilons):
    text = HEAD.format(epsilon=epsilons[0], permanent=epsilons[1]) + METRICS[name]
    found = registry.parse(text)
    return found, found.metrics["kept"].spec


def test_every_memoised_mechanism_is_tried():
    named = {spec_of(name, EPSILONS[0])[1].mechanism.name for name in METRICS}
    assert named == {name for name, each in MECHANISMS.items() if each.memoized} | {"sketch"}


@pytest.mark.parametrize("epsilons", EPSILONS)
@pytest.mark.parametrize("name", METRICS)
def test_no_two_histories_are_told_apart_by_more_than_is_printed(name, epsilons):
    """And what is printed is reached, but for the values that change at any time."""
    found, spec = spec_of(name, epsilons)
    cells = cells_of(spec.mechanism)
    histories = list(itertools.product(range(classes_of(cells)), repeat=TIMES))
    true = dict.fromkeys(("never", "alike", "once", "always"), 0.0)
    found_losses = losses(cells, histories, TIMES)
    for (row, first), (column, second) in itertools.product(enumerate(histories), repeat=2):
        most = max(changes(first), changes(second))
        kinds = {"never": not most, "alike": alike(first, second), "once": most < 2, "always": True}
        for kind, holds in kinds.items():
            if holds:
                true[kind] = max(true[kind], found_losses[row, column])
    account = account_of(found, days=TIMES)
    (metric,) = account.metrics
    for kind, worst in true.items():
        assert worst <= getattr(metric.histories, kind) * (1 + 1e-9), (kind, true)
    assert true["always"] <= account.together.sum * (1 + 1e-9)
    assert true["never"] <= account.unchanging.sum * (1 + 1e-9)
    assert metric.histories.never <= true["never"] * 1.4
    assert metric.histories.always <= true["always"] * 4.2
    if epsilons == EPSILONS[0]:  # so it is no bound for histories that change at other times
        assert true["always"] > metric.histories.alike


def test_histories_of_values_that_share_an_answer_differ_like_any_others():
    """Bins 0 and 1 by turns, or 1 and 2: of both histories every report changes, and comes back.

    A device of the group of bin 0 has one answer for bins 1 and 2, so the first history has two
    answers by turns, and the second one has one.
    """
    found, spec = spec_of("ldbitflip", EPSILONS[0])
    cells, times = cells_of(spec.mechanism), 10
    turns, same = (0, 1) * (times // 2), (1,) * times
    assert not alike(turns, same)
    (metric,) = account_of(found, days=times).metrics
    worst = losses(cells, [turns, same], times).max()
    assert metric.histories.alike < worst <= metric.histories.always
    (line,) = (line for line in account_lines(account_of(found, days=times)) if "kept:" in line)
    assert "if the same reports of two histories share permanent answers" in line


@pytest.mark.parametrize("name", ["flag", "lgrr", "ldbitflip", "lduchi", "losue", "loloha"])
@pytest.mark.parametrize(("times", "reached"), [(13, 0.58), (53, 0.87)])
def test_some_histories_reach_most_of_what_is_printed_for_one_change(name, times, reached):
    """And nearly half of it where values change in every period: no bound is far from what is true.

    One changes in the middle, the other never; each cell reports one thing before, one after.
    """
    mechanism = spec_of(name, (1.0, 2.0))[1].mechanism
    bounds, cells = history_bounds(mechanism, times), cells_of(mechanism)
    parts = times // 2, times - times // 2

    def law(cell, value, counts):
        given = np.prod(np.array(cell.reports) ** np.array(counts), axis=1)
        return np.log(np.array(cell.laws[value]) @ given)

    def worst(cell, before, after, other):
        most = -np.inf
        for said in itertools.product(range(len(cell.reports[0])), repeat=2):
            counts = np.zeros((2, len(cell.reports[0])), dtype=int)
            counts[(0, 1), said] = parts
            changed = law(cell, before, counts[0]) + law(cell, after, counts[1])
            most = max(most, changed - law(cell, other, counts.sum(axis=0)))
        return most

    def steady(cell, said):
        """The first never changes, the second has every value as often; all reports are alike."""
        classes, one = len(cell.laws), np.eye(len(cell.reports[0]), dtype=int)[said]
        shares = [times // classes + (value < times % classes) for value in range(classes)]
        others = sum(law(cell, value, one * share) for value, share in enumerate(shares))
        return law(cell, 0, one * times) - others

    values = itertools.product(range(classes_of(cells)), repeat=3)
    known = max(sum(worst(cell, *each) for cell in cells) for each in values if each[0] != each[1])
    assert reached * bounds.once <= known <= bounds.once
    spread = sum(max(map(partial(steady, cell), range(len(cell.reports[0])))) for cell in cells)
    assert 0.49 * bounds.always <= max(known, spread) <= bounds.always
