"""Distributions and pairs, as a page shows them."""

from __future__ import annotations

import pytest
from msgspec import structs

from deniable_aggregator.answers.common import Quantile
from deniable_aggregator.answers.estimates import Distribution, Shares
from deniable_aggregator.answers.lifts import Lift
from deniable_aggregator.answers.trends import Change, QuantileDifference
from deniable_aggregator.pages.numbers.view import distribution_view
from deniable_aggregator.pages.pairs.view import LARGEST_MATRIX, pairs_view
from deniable_aggregator.pages.rendering import page
from tests.aggregator.media.made_up import MadeUp

TEXTS = ["<script>alert(1)</script>", "a\u202eb", "=1+1"]


def distribution(seed=3):
    made = MadeUp(seed, TEXTS, [0.25, 0.5]).answer(Distribution)
    placed = {"shift_if_fake": 0.1}
    quantiles = [
        Quantile(quantile=0.5, estimate=70.2, low=61.0, high=93.0, **placed),
        Quantile(quantile=0.99, estimate=None, low=0, high=1_000, reason="too few", **placed),
    ]
    return structs.replace(made, quantiles=quantiles, bins=made.bins, description="")


def test_quantiles_have_their_ends_and_those_not_placed_say_why():
    view = distribution_view(distribution())
    assert ["median", "70", "60", "100"] in view.quantiles.rows
    assert view.not_placed == ("Not placed: 99th percentile: too few.",)
    assert view.changes is None
    assert "a quantile is placed to within one bin at best" in view.bins


def test_changes_of_quantiles_say_whether_they_are_clear():
    change = MadeUp(3, TEXTS, [0.25]).answer(Change)
    moved = {"before": 50.0, "after": 70.0, "change": 20.0, "shift_if_fake": 0.1}
    quantiles = [
        QuantileDifference(quantile=0.5, low=10, high=30, changed=True, **moved),
        QuantileDifference(quantile=0.9, low=-10, high=30, changed=False, **moved),
    ]
    view = distribution_view(
        distribution(), structs.replace(change, quantiles=quantiles, changes=[])
    )
    (median, high) = view.changes.rows
    assert median[:4] == ["median", "50", "70", "+10 to +30"]
    assert [row[-1].text for row in (median, high)] == ["clear change", "no clear change"]


def lift(first, second, association, low, high, p_value):
    made = {"share": 0.1, "expected": 0.08, "standard_error": 0.05, "adjusted_p_value": p_value}
    known = {"lift": (low + high) / 2, "low": low, "high": high, "p_value": p_value}
    return Lift(
        values=(first, second),
        association=association,
        shift_if_fake=0.1,
        reports=100,
        **made,
        **known,
    )


def shares(*lifts):
    made = MadeUp(5, TEXTS, [0.25, 0.5]).answer(Shares)
    return structs.replace(made, lifts=list(lifts))


def test_clear_pairs_are_said_first_and_the_others_fold():
    view = pairs_view(
        shares(
            lift("a=true", "b=true", "unclear", 0.8, 1.2, 0.5),
            lift("a=true", "c=true", "apart", 0.5, 0.7, 1e-3),
            lift("b=true", "c=true", "together", 1.4, 1.5, 1e-9),
        )
    )
    assert view.clear[0].startswith("b=true and c=true go together (1.40 to 1.50 times")
    assert view.clear[1].startswith("a=true and c=true exclude each other (0.5 to 0.7 times")
    assert view.unclear == "1 pair can't be told from chance"
    assert view.matrix.rows[0] == ["a=true", "", "(0.8 to 1.2)", "0.5 to 0.7"]


def test_a_matrix_that_nobody_can_read_is_left_out():
    names = [f"f{number}=true" for number in range(LARGEST_MATRIX + 2)]
    many = [lift(names[0], other, "unclear", 0.8, 1.2, 0.5) for other in names[1:]]
    assert pairs_view(shares(*many)).matrix is None
    assert pairs_view(shares()) is None


@pytest.mark.parametrize("template", ["numbers/distribution", "pairs/pairs"])
def test_texts_never_act(template):
    hostile = lift(*TEXTS[:2], "together", 1.4, 1.5, 1e-9)
    shown = page(
        f"{template}.html.jinja",
        distribution=distribution_view(structs.replace(distribution(), metric=TEXTS[0])),
        pairs=pairs_view(shares(hostile, lift(TEXTS[0], TEXTS[2], "unclear", 0.8, 1.2, 0.5))),
    ).get_data(as_text=True)
    assert "<script" not in shown
    assert "\u202e" not in shown
