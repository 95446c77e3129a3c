"""A registry with every mechanism, each small, so that its audit takes moments."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from deniable._audit import Declared, audit_metric, certificate_of
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedUnaryEncoding,
    Piecewise,
    Sketch,
    SubsetSelection,
    Wheel,
)
from deniable_shared.registry import Metric, Registry
from deniable_shared.registry.loading import Budget
from tests.privacy.specs import category, number, set_of, sketch, string, trie
from tests.vectors.make import SPECS

LARGE = {
    "trie",
    "trie of hex digits",
    "laplace",
    "gaussian",
    "hybrid",
    "piecewise",
    "hcms",
    "privset of two bytes",
}
SHORT = "wheel over a list, with two bytes for the bucket"
"""No two sets of its items are disjoint, so it does not reach its epsilon."""

ONE, TWO = Fraction(1), Fraction(2)
ITEMS = " ".join(f"item{index}" for index in range(40))

SMALL = {
    **{name: spec for name, (spec, _) in SPECS.items() if name not in {*LARGE, SHORT}},
    "laplace": number(DiscreteLaplace(steps=6, scale=6)),
    "gaussian": number(DiscreteGaussian(steps=3, noise=285, nanonats=10**9)),
    "piecewise": number(Piecewise.with_shape(9, 5, ONE)),
    "hybrid": number(replace(Hybrid.for_epsilon(ONE), inner=Piecewise.with_shape(9, 5, ONE))),
    "hcms": string(sketch("ht", 2, rows=5, buckets=16)),
    "wheel over a list": set_of(ITEMS, Wheel.for_epsilon(3, TWO, 1_000, rows=4)),
    "many subsets": category(ITEMS, SubsetSelection.for_epsilon(40, ONE)),
    "sketch over losue": string(
        Sketch(rows=9, inner=MemoizedUnaryEncoding.for_epsilons(8, ONE, TWO))
    ),
}
DISCOVERED = trie(levels=3, epsilon="2")


def declared_of(spec):
    """What a file would say of a metric that states all that it spends."""
    mechanism = spec.mechanism
    permanent = mechanism.epsilon_permanent
    return Declared(
        Fraction(mechanism.epsilon),
        None if permanent is None else Fraction(permanent),
        Fraction(mechanism.delta) or None,
        spec.every,
        spec.absent,
        spec.pick if spec.picks else None,
    )


def audit(registry):
    """The certificate of a registry that stands in no file."""
    metrics = registry.metrics.values()
    return certificate_of(
        registry, [audit_metric(metric, declared_of(metric.spec)) for metric in metrics]
    )


def registry_of(*specs):
    """A registry with these metrics, under names of their own."""
    metrics = {}
    for number_, spec in enumerate(specs):
        named = replace(spec, application="tests", name=f"m{number_}")
        metrics[named.name] = Metric(named, "", (), None, 1_000)
    return Registry("tests", Budget(16.0, 400.0), metrics)
