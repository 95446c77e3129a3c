"""What is said before published numbers: every notice of an answer is decided, and names no key."""

from __future__ import annotations

from datetime import date
from typing import get_args

import numpy as np
import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.common import KeyLeftOut, Notice, Run
from deniable_aggregator.answers.questions import EstimateQuery
from deniable_aggregator.answers.words import NoticeCode
from deniable_aggregator.media.publication import FORMATS
from deniable_aggregator.telling.publication.notes import NOT_SAID, SAID
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from tests.aggregator.estimation.test_closeness import Deployment
from tests.aggregator.publication.estimated import ONE_DAY, TallySource
from tests.aggregator.publication.test_publishing import source

MESSAGE = "the fact, of key partner. Advice to whoever asked"


def said_of(*notices):
    """The cautions of a publication whose answer has these notices."""
    asked = source()
    asked.notices = list(notices)
    return publish(asked, "m", policy=Policy(1_000)).cautions


def test_it_is_decided_of_every_notice_whether_it_is_published():
    assert SAID.keys() | NOT_SAID.keys() == set(get_args(NoticeCode))
    assert not SAID.keys() & NOT_SAID.keys()
    assert all(NOT_SAID.values())


@pytest.mark.parametrize("code", get_args(NoticeCode))
def test_a_notice_is_published_as_decided(code):
    cautions = said_of(Notice(code, "warning", MESSAGE))
    assert len(cautions) == (code in SAID)
    if code in ("excluded_key_counted", "robust_check_differs", "suspicious_reports", "uneven_key"):
        assert "partner" not in str(cautions)
    if code in ("compared_in_part", "other_version_left_out", "unlisted_string"):
        assert cautions == ["The fact, of key partner."]
    if code in ("segment_nearly_one_value", "segment_far_from_whole"):
        assert cautions == ["The fact, of key partner. Advice to whoever asked."]


def test_days_without_reports_at_the_end_are_said():
    first, last = date(2026, 1, 6), date(2026, 1, 25)
    days = replace(ONE_DAY, until=last, covered=21, missing=[Run(first, last)])
    (caution,) = publish(source(days=days), "m", policy=Policy(10)).cautions
    assert caution == "There are no reports from 2026-01-06 on."


def test_days_that_nobody_looked_at_for_forged_reports_are_said():
    days = replace(ONE_DAY, covered=42, reported=42, not_checked=33)
    (caution,) = publish(source(days=days), "m", policy=Policy(10)).cautions
    assert caution == "33 of 42 days with reports were not checked for forged reports."


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        ((6_177,), "6,177 reports from 1 source were left out by the publisher."),
        ((1, 0), "1 report from 1 source was left out by the publisher."),
        ((700, 77), "777 reports from 2 sources were left out by the publisher."),
    ],
)
def test_reports_that_the_publisher_left_out_are_counted_without_their_keys(reports, said):
    left_out = [
        KeyLeftOut(f"key {number}", "partner build", each, why)
        for number, (each, why) in enumerate(
            zip(reports, ("without_key", "excluded"), strict=False)
        )
    ]
    days = replace(ONE_DAY, keys_left_out=left_out)
    made = publish(source(days=days), "m", policy=Policy(1_000))
    assert made.cautions == [said]
    assert made.reports_left_out == sum(reports)
    assert made.keys_left_out == sum(each > 0 for each in reports)
    for name, written in FORMATS.items():
        text = written([made])
        assert (str(sum(reports)) if name == "csv" else said) in text
        assert "partner" not in text


def test_where_nothing_is_left_out_nothing_is_said():
    made = publish(source(), "m", policy=Policy(1_000))
    assert (made.cautions, made.reports_left_out, made.keys_left_out) == ([], 0, 0)


def test_a_segment_whose_devices_are_nearly_all_alike_is_published_with_a_warning():
    """Of 4,000 devices of a segment 3,920 hold the first value, and of the others a third."""
    deployment = Deployment("ss", 4, [[3_920, 40, 40], [10_000, 10_000, 10_000]])
    made = publish(
        TallySource(deployment.tallies()),
        "m",
        EstimateQuery(segment="s0", closeness=0.4),
        policy=Policy(100),
    )
    assert [each.partition(" ")[0] for each in made.cautions] == ["At", "The"]
    assert "of channel=s0 hold i0: whoever knows" in made.cautions[0]
    assert (
        "from those of all devices, above 0.4. What is true of nearly a whole" in (made.cautions[1])
    )
    assert made.segment == "channel=s0"
    assert made.segment_share.low < 4 / 34 < made.segment_share.high
    assert {row.of_reports for row in made.rows} == {None}
    (note,) = (each for each in made.notes if each.startswith("The table is about the segment"))
    assert note.endswith("% of the reports.")
    cells = dict(zip(*(line.split(",") for line in FORMATS["csv"]([made]).splitlines()[:2]),
                     strict=True))  # fmt: skip
    assert float(cells["segment_low"]) == made.segment_share.low
    assert float(cells["segment_high"]) == made.segment_share.high
    assert (cells["of_reports"], cells["segment"]) == ("", "channel=s0")
    assert np.isfinite(float(cells["estimate"]))
