"""What is published is coarser than what is printed: its ranges contain the printed ones."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.surfaces.asking import Question
from tests.surfaces.computed import computed_in
from tests.surfaces.printed import ranges_of, rows_about
from tests.surfaces.ranges import number as number_of
from tests.surfaces.rows import html_document, markdown_document, picture_document

METRICS = ("crash", "mode", "battery", "startup_seconds")
AT_ONCE = {"crash": {"interval": "all"}, "mode": {"interval": "all"}}
"""Shares are published with intervals that hold all at once."""

WHOLE = [Question(f"of {metric}", metric) for metric in METRICS]


@pytest.fixture(scope="module", params=WHOLE, ids=str)
def question(request):
    return request.param


@pytest.fixture(scope="module")
def numbers(asker, question):
    """As they were computed; those of all values at once, as they are published."""
    query = {**question.query, **AT_ONCE.get(question.metric, {})}
    path = f"/v1/metrics/{question.metric}/estimate.csv"
    answer = asker.service.ask(path, query_string=query)
    measures = ("share", "mean", "quantile")
    return [each for each in computed_in(answer.text) if each.measure in measures]


@pytest.fixture(scope="module")
def documents(asker, question):
    """The publication in Markdown and as a page, and the picture of the same numbers."""
    words = asker.words(question)[1:]
    options = ("--minimum", "1", "--format")
    path = asker.folder / "published.svg"
    path.unlink(missing_ok=True)
    at_once = [f"--{name}={value}" for name, value in AT_ONCE.get(question.metric, {}).items()]
    asker.run("estimate", *words, *at_once, "--picture", str(path))
    return {
        "Markdown": markdown_document(asker.run("publish", *words, *options, "md")),
        "page": html_document(asker.run("publish", *words, *options, "html")),
        "printed": picture_document(path.read_text("utf-8")),
    }


@pytest.mark.parametrize("form", ["Markdown", "page"])
def test_a_published_range_contains_the_printed_one(documents, numbers, form):
    found = 0
    for number in numbers:
        public = ranges_of(rows_about(documents[form], form, number), number)
        if not public:
            continue  # merged into what is below the minimum
        (printed,) = {
            (each.low, each.high)
            for each in ranges_of(rows_about(documents["printed"], "picture", number), number)
        }
        assert any(each.covers(*printed) for each in public), (number.subject, public, printed)
        assert any(map(number.is_in, public)), number
        found += 1
    assert found


@pytest.mark.parametrize("form", ["Markdown", "page"])
def test_a_published_estimate_is_the_nearest_to_its_digits(documents, numbers, form):
    for number in numbers:
        for row in rows_about(documents[form], form, number):
            for written in row.estimates(number.unit):
                digits = number_of(written)
                unit = Decimal(1).scaleb(int(digits.as_tuple().exponent))
                assert number.estimate is not None
                assert abs(digits - number.estimate) <= unit / 2, (written, number.estimate)
