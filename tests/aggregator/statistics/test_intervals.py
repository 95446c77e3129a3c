from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable_aggregator.counting.statistics.intervals import (
    alpha_per_interval,
    detect,
    z_for_alpha,
    z_for_level,
)
from deniable_shared.errors import ParameterError


def test_the_usual_levels_have_the_usual_widths():
    assert z_for_alpha(0.05) == pytest.approx(1.959964)
    assert z_for_level(0.95) == pytest.approx(1.959964)
    assert z_for_alpha(0.01) == pytest.approx(2.575829)


def test_each_kind_of_interval_spends_its_alpha_as_defined():
    counts = {"level": 0.95, "asked": 500, "shown": 20}
    assert alpha_per_interval("one", **counts) == pytest.approx(0.05)
    assert alpha_per_interval("all", **counts) == pytest.approx(0.05 / 500)
    assert alpha_per_interval("picked", **counts) == pytest.approx(0.05 * 20 / 500)


@pytest.mark.parametrize("level", [0, 1, -1, float("nan"), float("inf")])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(ParameterError, match="level must be between 0 and 1"):
        alpha_per_interval("one", level=level, asked=1, shown=1)
    with pytest.raises(ParameterError, match="level must be between 0 and 1"):
        z_for_level(level)


def test_an_unknown_kind_of_interval_is_refused():
    with pytest.raises(ParameterError, match="interval must be one of one, all, picked"):
        alpha_per_interval("bayes", level=0.95, asked=1, shown=1)


@pytest.mark.parametrize("false_finds", ["few", "none"])
def test_detection_agrees_with_its_textbook_definition(false_finds):
    generator = np.random.default_rng(3)
    scores = np.concatenate([generator.normal(0, 1, 900), generator.normal(4, 1, 100)])
    p_values = stats.norm.sf(scores)
    if false_finds == "few":
        expected = stats.false_discovery_control(p_values) <= 0.05
    else:
        expected = p_values * p_values.size <= 0.05
    found = detect(scores, false_finds=false_finds)
    assert (found == expected).all()
    assert found.any()
    assert not found.all()


def test_false_discoveries_stay_at_their_rate_where_two_sigma_does_not():
    generator = np.random.default_rng(4)
    false = {"few": [], "none": [], "two sigma": []}
    for _ in range(200):
        scores = np.concatenate([generator.normal(0, 1, 940), generator.normal(4, 1, 60)])
        for false_finds in ("few", "none"):
            found = detect(scores, false_finds=false_finds)
            false[false_finds].append(found[:940].sum() / max(found.sum(), 1))
        naive = scores > 2
        false["two sigma"].append(naive[:940].sum() / naive.sum())
    assert np.mean(false["few"]) < 0.06
    assert np.mean(false["none"]) < 0.01
    assert np.mean(false["two sigma"]) > 0.2


def test_nothing_is_detected_among_nothing():
    assert detect(np.array([])).size == 0
    assert not detect(np.array([0.1, -3.0])).any()


def test_unknown_corrections_and_bad_alphas_are_refused():
    with pytest.raises(ParameterError, match="false_finds must be one of few, none"):
        detect(np.array([1.0]), false_finds="holm")
    with pytest.raises(ParameterError, match="alpha"):
        detect(np.array([1.0]), alpha=float("nan"))
