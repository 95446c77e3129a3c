"""What is shown of a metric, what is merged, and what is said of it."""

from __future__ import annotations

import csv
import re
from dataclasses import replace as changed
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.common import PeriodCounts
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.media.publication import csv_text
from deniable_aggregator.telling.numbers import estimate_of, range_of
from deniable_aggregator.telling.publication.document import document_of
from deniable_aggregator.telling.publication.notes import presence_warnings
from deniable_aggregator.telling.publication.publication import PublishedRow, Rounded
from deniable_aggregator.telling.publication.publish import (
    NotPublishedError,
    presence,
    publish,
    share_row,
)
from deniable_aggregator.telling.publication.selection import Periods, Policy, read_population
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ORACLES
from tests.aggregator.answered import DAYS
from tests.aggregator.publication.estimated import ONE_DAY, TallySource
from tests.aggregator.simulated import drawn, spec_of
from tests.privacy.specs import category

HELD = (10_000, 6_000, 3_000, 600, 300, 100)
EPSILON = 4


def source(held=HELD, spec=None, **options):
    spec = spec or spec_of("grr", len(held), EPSILON)
    counts = drawn(spec, np.array(held), np.random.default_rng(5))
    return TallySource([(spec, counts)], **options)


def cells_of(made):
    """The texts of the table of a publication."""
    (table,) = document_of(made).tables
    return [row.cells for row in table.rows]


def test_a_metric_that_is_reported_once_has_no_period():
    spec = changed(spec_of("grr", 6, EPSILON), every="once")
    made = publish(source(spec=spec, days=DAYS), "m", policy=Policy(1_000))
    assert (made.periods, len(made.rows)) == (1, 4)
    assert any("held by at least 1,000 devices, judged" in text for text in made.reading)


def test_values_that_enough_devices_surely_hold_are_shown_and_the_rest_is_merged():
    asked = source()
    made = publish(asked, "m", policy=Policy(1_000))
    assert [row.label for row in made.rows] == ["i0", "i1", "i2", "other (3 items)"]
    assert asked.asked[-1].combined == ("i3", "i4", "i5")
    other = made.rows[-1]
    assert (other.measure, other.items) == ("other", 3)
    assert other.number.low <= 1_000 / 20_000 <= other.number.high
    assert other.reports.low <= 1_000 <= other.reports.high
    assert all(row.reports.low >= 0.9 * 1_000 for row in made.rows[:-1])
    assert made.left_out == 0


@pytest.mark.parametrize(("held", "reports"), [((700, 500, 130, 77), "1,407"), ((1, 0), "1")])
def test_all_values_together_are_all_reports_without_what_floats_add(held, reports):
    made = publish(source(held), "m", policy=Policy(50_000, reports_minimum=1))
    ((_, *cells),) = cells_of(made)
    assert cells == ["100%", "100%", reports]


def test_the_minimum_is_of_the_devices_of_a_period_and_not_of_their_reports():
    shown = [len(publish(source(days=days), "m", policy=Policy(1_000)).rows) - 1
             for days in (ONE_DAY, DAYS)]  # fmt: skip
    # On each of 31 days 10,000/31 of the devices hold the most popular value.
    assert shown == [3, 0]
    assert len(publish(source(days=DAYS), "m", policy=Policy(300)).rows) == 2


def test_if_no_value_is_shown_the_others_still_are_together():
    made = publish(source(), "m", policy=Policy(20_000))
    assert [row.label for row in made.rows] == ["other (6 items)"]
    assert "No value reaches the minimum." in made.notes


def test_the_only_value_of_a_table_is_left_out_and_not_called_other():
    spec = category("yes no", ORACLES["grr"].for_epsilon(2, EPSILON))
    flag = replace_type(spec)
    made = publish(TallySource([(flag, np.array([9_900, 100]))]), "m", policy=Policy(5_000))
    assert (made.rows, made.left_out) == ([], 1)
    assert "1 value below the minimum is left out." in made.notes


def replace_type(spec):
    return changed(spec, type="boolean", values=(), mechanism=ORACLES["rr"].for_epsilon(2, EPSILON))


def test_people_are_shown_of_shares_what_is_possible_and_programs_what_was_estimated():
    spec = spec_of("oue", 6, 1)
    counts = drawn(spec, np.array(HELD), np.random.default_rng(5))
    counts[4:] -= 120  # fewer than chance
    made = publish(TallySource([(spec, counts)]), "m", policy=Policy(1_000))
    assert made.rows[-1].number.estimate < 0
    assert any("show what is possible, from 0 to 100%" in text for text in made.reading)
    _, interval, share, reports, *_ = cells_of(made)[-1]
    assert re.fullmatch(r"below [\d.]+%", interval)
    assert share == "can't tell from zero"
    assert reports.startswith("0 to ")
    (*_, line) = csv.DictReader(csv_text([made]).splitlines())
    assert float(line["estimate"]) == made.rows[-1].number.estimate
    assert float(line["low"]) == made.rows[-1].number.low < 0


def test_a_share_above_all_reports_is_shown_as_all_of_them():
    made = replace(publish(source(), "m", policy=Policy(1_000)), rows=[share_above_one()])
    assert cells_of(made) == [("free", "above 94%", "100%", "2,800 to 2,999", "2,999")]


def share_above_one():
    """Of 2,999 reports, which noise moved beyond them."""
    return PublishedRow(
        measure="share",
        label="free",
        items=1,
        number=Rounded(1.04, 0.94, 1.14, 0.01),
        reports=Rounded(3_100, 2_800, 3_400, 100),
        of_reports=2_999,
    )


@pytest.mark.parametrize("held", [HELD, (9_000, 1_768, 400, 40, 0, 0)])
def test_what_is_published_has_the_words_that_are_printed_elsewhere(held):
    asked = source(held)
    made = publish(asked, "m", policy=Policy(1, reports_minimum=1))
    answer = asked.estimate("m", EstimateQuery(interval="all"), ValueLists())
    printed = {share.value: (range_of(share), estimate_of(share)) for share in answer.of("share")}
    shown = {cells[0]: cells[1:3] for cells in cells_of(made) if cells[0] in printed}
    assert shown
    assert shown == {value: printed[value] for value in shown}


def test_a_share_that_is_not_told_from_zero_has_an_interval_with_zero():
    policy, periods = Policy(1), Periods("day", 1_000, PeriodCounts(1, 1_000), {})
    untold = Measured(
        measure="share", value="a", estimate=0.01, low=0.0004, high=0.0196, told=False
    )
    told = replace(untold, told=True)
    rows = [share_row(share, periods, policy) for share in (untold, told)]
    assert [row.number for row in rows] == [
        Rounded(0.01, 0.0, 0.02, 0.001), Rounded(0.01, 0.0004, 0.02, 0.001),
    ]  # fmt: skip
    made = replace(publish(source(), "m", policy=Policy(1_000)), rows=rows)
    assert [cells[1] for cells in cells_of(made)] == ["below 2.0%", "0.04 to 2.0%"]


def test_a_picture_has_the_numbers_of_its_table_in_the_same_words():
    made = publish(source(), "m", policy=Policy(1_000))
    made = replace(made, rows=[*made.rows, share_above_one()])
    drawn = re.sub(r"<[^>]*>", "\n", svg(document_of(made).figure)).split("\n")
    for row, (_, interval, share, *_) in zip(made.rows, cells_of(made), strict=True):
        assert interval in drawn
        assert f"{row.label}: {interval}, estimate {share}" in "\n".join(drawn)


def test_a_sum_that_says_nothing_is_said_to_say_nothing():
    spec = spec_of("oue", 400, Fraction(1, 2))
    counts = drawn(spec, np.array([1_000] + [0] * 399), np.random.default_rng(5))
    made = publish(TallySource([(spec, counts)]), "m", policy=Policy(100))
    assert [row.measure for row in made.rows] == ["share", "other"]
    assert cells_of(made)[-1][1:3] == ("anything from 0 to 100%", "can't tell from zero")
    (panel,) = document_of(made).figure.panels
    assert [dot.label for dot in panel.dots] == ["i0"]


def test_that_more_days_are_checked_between_two_questions_is_no_other_count():
    class Checking(TallySource):
        def estimate(self, metric, query, lists):
            days = self.head.days
            self.head = replace(self.head, days=replace(days, not_checked=days.not_checked - 3))
            return super().estimate(metric, query, lists)

    asked = Checking(source().tallies, days=replace(ONE_DAY, not_checked=42))
    made = publish(asked, "m", policy=Policy(1_000))
    assert (len(asked.asked), made.rows[-1].label) == (2, "other (3 items)")


def test_how_many_reports_a_period_has_on_average_is_rounded_to_the_nearest():
    days = replace(ONE_DAY, until=date(2026, 1, 7), covered=3, reported=3)
    made = publish(source(days=days), "m", policy=Policy(1_000))
    assert any("20,000 reports are of 3 days, 6,667 on average" in note for note in made.notes)


def test_too_few_reports_are_refused():
    few = source((500, 300, 100, 50, 30, 19))
    with pytest.raises(NotPublishedError, match=r"has 999 reports .* fewer than 1,000 nothing"):
        publish(few, "m")
    assert publish(few, "m", policy=Policy(10, reports_minimum=999)).reports == 999


def test_versions_are_published_with_their_texts_and_shares_are_of_those_that_know():
    old, new = (category(values, ORACLES["grr"].for_epsilon(size, EPSILON))
                for values, size in (("a b", 2), ("a b c", 3)))  # fmt: skip
    tallies = [(old, np.array([5_000, 5_000])), (new, np.array([4_000, 3_000, 3_000]))]
    made = publish(TallySource(tallies), "m", policy=Policy(100))
    assert {each.version for each in made.versions} == {old.digest.hex(), new.digest.hex()}
    assert [each.canonical for each in made.versions] == [
        old.canonical_text(), new.canonical_text(),
    ]  # fmt: skip
    assert [row.of_reports for row in made.rows] == [20_000] * 3


def test_what_must_be_known_is_said():
    made = publish(source(verdict="suspicious"), "m", policy=Policy(1_000))
    assert "not those of honest devices" in made.cautions[0]
    made_of_keys_that_differ = publish(source(verdict="uneven"), "m", policy=Policy(1_000))
    assert "or reports were forged" in made_of_keys_that_differ.cautions[0]
    said = " ".join([*made.reading, *made.notes])
    for part in (
        "That values are left out is policy, not privacy: randomized reports need no suppression, "
        "and no complementary suppression",
        "held by at least 1,000 devices of one day, judged by the lower end",
        "With a probability of 95%",
        "If 1% of the reports were forged",
        "“other (3 items)” is the share of all 3 values",
    ):
        assert part in said
    assert "who@example.org" not in str(made)


def test_presence_is_the_largest_part_of_a_cell_that_can_have_reported():
    assert (presence(0.010, 1_000, 40), presence(0.005, 1_000, 5)) == (0.25, 1.0)
    assert (presence(0.9, 1_000, 5), presence(-0.1, 1_000, 5)) == (1.0, 0.0)
    assert presence(0.0100001, 1_000, 40) == 0.251  # rounded up
    assert presence(0.5, 1_000, None) is None
    made = publish(source(), "m", policy=Policy(1_000, population={"i0": 12_000, "i1": 60_000}))
    first, second, third, _ = made.rows
    assert (first.people, second.people, third.people) == (12_000, 60_000, None)
    assert 10_000 / 12_000 < first.presence < 0.9
    assert 6_000 / 60_000 < second.presence < 0.12
    assert len(presence_warnings(made)) == 1
    assert made.cautions[-1].startswith("Of the 12,000 people of i0, up to 8")
    assert 100 * first.presence <= float(re.search(r"up to (\d+)% may", made.cautions[-1])[1])


def test_merged_values_are_of_the_people_of_all_of_them():
    people = dict.fromkeys(("i3", "i4", "i5"), 1_000)
    made = publish(source(), "m", policy=Policy(1_000, population=people))
    assert made.rows[-1].people == 3_000
    assert 1_000 / 3_000 <= made.rows[-1].presence < 0.5
    del people["i4"]
    made = publish(source(), "m", policy=Policy(1_000, population=people))
    assert made.rows[-1].people is None


def test_a_population_is_read_from_two_columns(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text('value,people\n"a, b",40\nc,5\n', encoding="utf-8")
    assert read_population(file) == {"a, b": 40, "c": 5}


@pytest.mark.parametrize(
    "count", ["-2", "nan", "4O", "1 000", "1000000000001", "1" * 5_000], ids=lambda each: each[:13]
)
def test_a_population_has_whole_numbers_of_people_up_to_a_trillion(tmp_path, count):
    file = tmp_path / "people.csv"
    file.write_text(f"a,1\nb,{count}\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="number of people in"):
        read_population(file)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a\n", "a value and a number"),
        ("a,1\na,2\n", "of its own"),
        ("a,nan\n", "number of people"),
        ("value,people\n", "at least one value"),
    ],
)
def test_a_population_that_cannot_be_is_refused(tmp_path, text, wrong):
    file = tmp_path / "people.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError, match=wrong):
        read_population(file)


@pytest.mark.parametrize("field", ["minimum", "reports_minimum"])
def test_a_policy_without_a_minimum_is_refused(field):
    with pytest.raises(ParameterError, match=f"{field} must be at least 1, got 0"):
        Policy(**{field: 0})
