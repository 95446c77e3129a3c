"""Tables of strings are about a list; quantiles that cannot be placed keep their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.counting.statistics.outcomes import channel
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.media.publication import FORMATS
from deniable_aggregator.telling.numbers import estimate_of, mean_in_words, name_of, range_of
from deniable_aggregator.telling.publication.document import document_of
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_shared import registry
from tests.aggregator.estimation.test_sketches import tally
from tests.aggregator.publication.estimated import TallySource, details
from tests.aggregator.simulated import drawn, spec_of

LISTED = 5
OUTSIDE = (
    "5 values were looked for; strings outside of this list are not in the table, so shares do not "
    "add up to 100%."
)


@pytest.fixture(scope="module")
def strings():
    """A sketch of many strings, of which the most common one is held by 45%."""
    spec, counts, texts, _ = tally("top .45", 1_000_000, "2", 5)
    return TallySource([(spec, counts)]), texts


def table(strings, first, minimum):
    source, texts = strings
    return publish(source, "m", candidates=texts[first : first + LISTED], policy=Policy(minimum))


def test_what_is_not_shown_of_a_list_is_not_called_other(strings):
    made = table(strings, 0, 400_000)
    assert [row.label for row in made.rows] == ["held 0", "the other 4 of the 5 values looked for"]
    assert made.rows[-1].measure == "other"
    assert OUTSIDE in made.notes
    assert not any("other (" in written([made]) for written in FORMATS.values())
    nothing = table(strings, 0, 900_000)
    assert [row.label for row in nothing.rows] == ["all 5 values looked for"]
    assert OUTSIDE in nothing.notes


def test_a_common_string_that_is_not_in_the_list_is_said_with_its_share(strings):
    made = table(strings, 1, 100)
    (caution,) = made.cautions
    assert caution.startswith("A string that was not looked for holds about 45% of the reports.")
    assert not table(strings, 0, 100).cautions


REGISTRY = registry.parse(
    """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.pages]
type = "distribution"
range = [0, 200]
bins = 16
epsilon = 1.0
mechanism = "sw"
"""
)


def distribution(reports, bins):
    """A publication of a distribution most of whose devices are in two bins."""
    spec = REGISTRY.metrics["pages"].spec
    return publish(TallySource([(spec, counted(spec, reports, bins))]), "pages", policy=Policy())


def counted(spec, reports, bins):
    held = np.zeros(16)
    held[list(bins)] = 1 / len(bins)
    chances = channel(spec.mechanism) @ held
    return np.random.default_rng(4).multinomial(reports, chances / chances.sum())


def test_a_quantile_that_cannot_be_placed_keeps_its_interval_and_says_why():
    made = distribution(2_000, (14, 15))
    unplaced = [row for row in made.rows if row.number.estimate is None]
    assert unplaced
    assert all(0 <= row.number.low < row.number.high <= 200 for row in unplaced)
    document = document_of(made)
    (table,) = document.tables
    cells = {name: more for name, *more in (row.cells for row in table.rows)}
    for row in unplaced:
        assert cells[row.label] == [f"{row.number.low:g} to {row.number.high:g}", "can't place"]
    (note, *_) = [each for each in made.notes if each.startswith("Not placed: ")]
    assert unplaced[-1].label in note
    assert "would place it" in note
    (panel,) = document.figure.panels
    assert [dot.label for dot in panel.dots] == [row.label for row in made.rows]
    assert f"{unplaced[0].label}: " in svg(document.figure)
    assert "cannot be placed better" in svg(document.figure)
    assert "null" in FORMATS["json"]([made])


@pytest.mark.parametrize("bins", [range(16), (14, 15), (0,)])
def test_numbers_have_the_words_that_are_printed_elsewhere(bins):
    spec = REGISTRY.metrics["pages"].spec
    source = TallySource([(spec, counted(spec, 20_000, bins))])
    (table,) = document_of(publish(source, "pages")).tables
    answer = source.estimate("pages", EstimateQuery(), ValueLists())
    limits = answer.head.limits
    assert [tuple(row.cells) for row in table.rows] == [
        (
            mean_in_words(number) if number.measure == "mean" else name_of(number),
            range_of(number, limits),
            estimate_of(number, limits),
        )
        for number in (*answer.of("mean"), *answer.of("quantile"))
    ]


class RetypedSource(TallySource):
    """Answers about a metric whose newest version, of another type, has no reports yet."""

    def __init__(self, newest, tallies):
        super().__init__(tallies)
        self._newest = newest

    def metric(self, metric):
        return details(metric, [self._newest, *(spec for spec, _ in self.tallies)])


def test_a_metric_that_was_given_another_type_is_published_by_the_type_of_its_reports():
    pages, values = REGISTRY.metrics["pages"].spec, spec_of("grr", 6, 4)
    held = np.array([10_000, 6_000, 3_000, 600, 300, 100])
    tallies = [(values, drawn(values, held, np.random.default_rng(5)))]
    made = publish(RetypedSource(pages, tallies), "m", policy=Policy(1_000))
    assert made == publish(TallySource(tallies), "m", policy=Policy(1_000))
    numbers = [(pages, counted(pages, 20_000, range(16)))]
    made = publish(RetypedSource(values, numbers), "pages")
    assert made == publish(TallySource(numbers), "pages")


def test_notes_of_numbers_say_what_applies():
    notes = distribution(20_000, range(16)).reading
    assert any(
        each.startswith("Quantiles come from the most likely histogram (expectation maximization).")
        for each in notes
    )
    assert (
        "Means and quantiles show no small groups, so only the minimum of 1,000 reports applies."
        in notes
    )
