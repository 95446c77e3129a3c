"""Each field of an answer is shown on a surface for people, or left out by `fields.FIELDS`."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.measured import Measured
from tests.aggregator.telling import answers
from tests.surfaces.asking import AFTER, HEALTH, SURFACES, Question, answering
from tests.surfaces.fields import EVERYWHERE, FIELDS
from tests.surfaces.shown import is_asked

QUESTIONS = {
    "estimate": Question("estimate of all fields", "theme"),
    "change": Question("change of all fields", "theme", "change", AFTER),
    "series": Question("series of shares", "theme", "series"),
    "distribution": Question("estimate of a distribution", "startup_seconds"),
    "segment": Question("estimate of a segment", "mode", segment="beta"),
    "pairs": Question("estimate of pairs", "features"),
    "shape": Question("change of a distribution", "startup_seconds", "change", AFTER),
    "explained": Question(
        "change explained", "mode", "change", AFTER, more=(("why", ("segment",)),)
    ),
    "discovery": Question("discovery", "code", "discover"),
    "health": HEALTH,
}


def estimate():
    """Shares of which one has all fields; no two of its numbers are alike."""
    full = answers.share(
        "dark", 0.4223, 0.4321, 0.4419, reports=12_345, versions=("a" * 64,),
        possible_low=0.3111, possible_high=0.5222, rank_first=1, rank_last=2, adjusted=0.3777,
        robust=0.4111, robust_error=0.0101, robust_low=0.3911, robust_high=0.4311,
        robust_slices=12,
    )  # fmt: skip
    rest = Measured(
        measure="rest", value="another + sepia", values=("another", "sepia"), estimate=0.05,
        standard_error=0.01, low=0.03, high=0.07, method="normal", shift_if_fake=0.01,
    )  # fmt: skip
    rows = [
        replace(full, shift_if_fake=0.0137),
        answers.share("light", -0.01, 0.001, 0.012, detected=False),
    ]
    meanings = {"postprocess": "adds up", "robust check": "a median"}
    return answers.shares(rest, *rows, postprocess="norm-sub", meanings=meanings)


def change():
    """A change with all fields."""
    row = answers.difference("dark", (0.13, 0.16, 0.19))
    return answers.change(replace(row, adjusted_p_value=0.0123, all_days=0.1912))


MADE_UP = {"estimate": estimate, "change": change}


def said(asker, surface, of):
    """All that a surface says in answer to a question, and what stands in the rows of "dark"."""
    question = QUESTIONS[of]
    if of not in MADE_UP:
        document = asker.document(surface, question)
    else:
        with answering(*(each() for each in MADE_UP.values())):
            document = SURFACES[surface](asker, question)
    rows = ["  ".join(row.cells) for row in document.rows]
    about_it = [
        "  ".join((*row.names[:1], *row.cells))
        for row in document.rows
        if any(re.match(r"dark\b", name) for name in row.names)
        and not any(re.search(r"\d{4}-\d\d", cell) for cell in row.cells)
    ]
    return "\n".join((document.text, *rows)), "\n".join(about_it)


CASES = [
    (name, surface)
    for name, field in FIELDS.items()
    for surface in field.on
    if is_asked(surface, QUESTIONS[field.of])
]


def test_each_field_has_an_entry_and_each_absence_a_reason():
    assert FIELDS.keys() == set(COLUMNS)
    for name, field in FIELDS.items():
        missing = {
            each
            for each in EVERYWHERE
            if each not in field.on and is_asked(each, QUESTIONS[field.of])
        }
        assert field.why or not missing, name


@pytest.fixture(scope="module")
def spoken():
    """What surfaces have said, so that each is asked once."""
    return {}


@pytest.mark.parametrize(("name", "surface"), CASES)
def test_a_field_is_shown_where_it_has_to_be(asker, spoken, name, surface):
    field = FIELDS[name]
    key = surface, field.of
    if key not in spoken:
        spoken[key] = said(asker, surface, field.of)
    text = spoken[key][field.beside]
    assert re.search(field.words, text), text[:3_000]
