"""Tables of pairs: one number of bits together, and the pairs that hardly anybody hides in."""

from __future__ import annotations

import itertools
import math

import pytest

from deniable_shared.errors import PriorsError
from deniable_shared.review import read_pairs, review
from deniable_shared.review.sentences import sentences
from tests.shared.review.registries import FLAG, category, registry

METRICS = registry(("age", category(3)), ("city", category(4)), ("dark", FLAG), ("late", FLAG))


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "pairs.csv"
        file.write_text(text)
        return read_pairs(file, METRICS)

    return reading


def test_bits_together_are_those_of_a_chain_of_values(read):
    """P(age) P(city | age) P(dark | city), added up cell by cell; late is independent of all."""
    ages = {"v0": 0.5, "v1": 0.25, "another": 0.25}
    cities = {
        "v0": {"v0": 0.75, "v1": 0.25},
        "v1": {"v1": 0.5, "v2": 0.5},
        "another": {"another": 1.0},
    }
    dark = {"v0": 0.125, "v1": 0.5, "v2": 0.75, "another": 0.25}
    pairs, whole, city_shares = [], [], {}
    for age, share in ages.items():
        for city, given in cities[age].items():
            pairs.append(f"age,{age},city,{city},{share * given}")
            city_shares[city] = city_shares.get(city, 0.0) + share * given
            for yes in (dark[city], 1 - dark[city]):
                whole.append(share * given * yes)
    for city, share in city_shares.items():
        pairs.append(f"dark,true,city,{city},{share * dark[city]}")
        pairs.append(f"city,{city},dark,false,{share * (1 - dark[city])}")
    found = review(METRICS, pairs=read("\n".join(pairs)))
    truth = -math.fsum(share * math.log2(share) for share in whole) + 1
    assert found.joint_bits == pytest.approx(truth)
    assert found.together.largest < found.joint_bits < found.together.total
    (said, *_) = sentences(found.together, found.records, found.joint_bits)
    assert f"{truth:.1f} bits together, with the pairs that are given" in said


def test_of_tables_in_a_ring_the_weakest_counts_for_nothing(read):
    alike = "{0},true,{1},true,1\n{0},false,{1},false,1\n"
    some = "late,true,city,v0,3\nlate,true,city,v1,1\nlate,false,city,v0,1\nlate,false,city,v1,3\n"
    tree = alike.format("dark", "late") + some
    ring = tree + some.replace("late", "dark")
    two, three = (review(METRICS, pairs=read(text)).joint_bits for text in (tree, ring))
    assert two == pytest.approx(three)


def test_pairs_that_few_devices_hold_are_named_and_the_rarest_first(read):
    rows = itertools.product(["v0", "v1", "another"], ["v0", "v1", "v2", "another"])
    text = "".join(f"age,{age},city,{city},1000\n" for age, city in rows)
    text = text.replace("v1,city,v2,1000", "v1,city,v2,3").replace(
        "v0,city,v1,1000", "v0,city,v1,8"
    )
    found = review(METRICS, pairs=read(text), devices=10_000)
    assert [each.values for each in found.rare_cells] == [("v1", "v2"), ("v0", "v1")]
    (said,) = (each.reason for each in found.findings if each.code == "rare-pairs")
    assert "2 pairs are held by fewer than 10 devices: age = v1 and city = v2 (3 of 10,000" in said
    assert "rare-pairs" not in {each.code for each in review(METRICS, devices=10_000).findings}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("age,v0,city,v0", "must be a share or a count"),
        ("age,v0,1", "must be metric, item, metric, item and share"),
        ("age,v0,age,v1,1", "must name two metrics"),
        ("age,v9,city,v0,1", "age must have items such as 'v0', got 'v9'"),
        ("year,v9,city,v0,1", "no metric is called 'year'"),
    ],
)
def test_what_is_no_table_of_pairs_is_refused(read, line, problem):
    with pytest.raises(PriorsError, match=problem):
        read(f"dark,true,late,true,1\n{line}\n")
