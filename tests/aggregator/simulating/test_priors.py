"""A file of shares says what simulated devices hold, or what is wrong with it."""

import numpy as np
import pytest

from deniable_aggregator.simulating.laws import changed, law
from deniable_aggregator.simulating.priors import NOBODY, UNHELD, stated_priors
from deniable_shared.errors import PriorsError
from deniable_shared.registry import parse
from tests.aggregator.simulating.registries import EVERYTHING


@pytest.fixture
def read(tmp_path):
    def of(*lines):
        file = tmp_path / "shares.csv"
        file.write_text("\n".join(lines))
        return stated_priors(file, parse(EVERYTHING))

    return of


def test_shares_of_values_are_taken_as_they_are_and_counts_as_shares_of_their_sum(read):
    prior = read("theme,light,0.5", "theme,dark,0.3", "theme,sepia,0.2")["theme"]
    assert prior.shares == pytest.approx({"light": 0.5, "dark": 0.3, "sepia": 0.2})
    assert not prior.made_up
    assert read("theme,light,30", "theme,dark,10")["theme"].shares["light"] == 0.75


def test_numbers_stand_with_how_common_they_are(read):
    prior = read("startup,1.5,3", "startup,40,1")["startup"]
    assert prior.numbers == {1.5: 0.75, 40.0: 0.25}


def test_pairs_with_segments_and_attributes_are_named_as_answers_name_them(read):
    priors = read(
        "mode,mode=visual & channel=beta,1",
        "mode,mode=source & channel=stable,3",
        "settings,toolbar=full,4",
        "settings,toolbar=small,1",
        "settings,spelling=true,1",
        "settings,spelling=false,1",
    )
    held = {pair: share for pair, share in priors["mode"].pairs.items() if share}
    assert held == {("visual", "beta"): 0.25, ("source", "stable"): 0.75}
    assert priors["settings"].attributes["toolbar"] == {"full": 0.8, "small": 0.2}


def test_whole_records_are_held_as_they_are_stated(read):
    prior = read(
        "settings,toolbar=full & spelling=true,3",
        "settings,spelling=false & toolbar=small,1",
    )["settings"]
    spec = parse(EVERYTHING).metrics["settings"].spec
    generator = np.random.default_rng(1)
    together = (("toolbar", "full"), ("spelling", True))
    apart = (("toolbar", "small"), ("spelling", False))
    assert law(spec, prior, generator) == {together: 0.75, apart: 0.25}
    assert law(spec, changed(prior, 5), generator) == {together: 0.7, apart: 0.3}


def test_whole_sets_are_held_as_they_are_stated(read):
    prior = read("plugins,git & vim,3", "plugins,no items,1")["plugins"]
    spec = parse(EVERYTHING).metrics["plugins"].spec
    assert law(spec, prior, np.random.default_rng(1)) == {("git", "vim"): 0.75, (): 0.25}


def test_items_that_nobody_holds_are_asked_for_where_any_text_is_one(read):
    prior = read("extensions,git & vim,3", "extensions,no items,1")["extensions"]
    assert prior.records == {("git", "vim"): 0.75, (): 0.25}
    assert len(prior.absent) == UNHELD
    assert not read("plugins,git & vim,3", "plugins,no items,1")["plugins"].absent


def test_strings_that_nobody_holds_are_asked_for_too(read):
    prior = read("printer,office,2", "printer,home,1")["printer"]
    assert set(prior.shares) == {"office", "home"}
    assert all(text.startswith(NOBODY) for text in prior.absent)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("theem,dark,1", "no metric is called 'theem'. Did you mean 'theme'?"),
        ("startup,fast,1", "startup: its items must be numbers, got 'fast'"),
        ("startup,nan,1", "startup: its items must be numbers, got 'nan'"),
        ("plugins,git & vmi,1", "plugins: must have listed items, got 'vmi'. Did you mean 'vim'?"),
        ("theme,dark,0.4", "theme: its shares must add up to 1, got 0.4"),
        ("startup,1,0.4", "startup: its shares must add up to 1, got 0.4"),
        ("mode,visual,1", "mode: must have items such as 'mode=visual & channel=stable'"),
        ("theme,dark,-1", "line 1: its last word must be a share or a count"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_refused_by_name(read, line, problem):
    with pytest.raises(PriorsError) as refused:
        read(line)
    assert problem in str(refused.value)
    assert "shares.csv" in str(refused.value)
