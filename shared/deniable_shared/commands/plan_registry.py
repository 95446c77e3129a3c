"""What the options of ``deniable plan`` describe, and where numbers of devices come from."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Final

from deniable_shared.fields import MAX_VALUES
from deniable_shared.planning.one_metric import ASSUMED, ENOUGH, GIVEN, AskedMetric
from deniable_shared.spec import TYPES_WITH_RANGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DEVICES_FROM: Final = {
    GIVEN: "",
    ENOUGH: ", as many as --share needs",
    ASSUMED: " (assumed: say how many with --devices)",
}
ASSUMED_IN_FILE: Final = " (assumed: the file has no expected_devices)"
"""Where the number of devices comes from, if nobody has given it."""


def without_expected_devices(path: Path) -> Iterator[str]:
    """The metrics of a registry file that do not say how many devices they expect."""
    metrics = tomllib.loads(path.read_text(encoding="utf-8")).get("metrics", {})
    yield from (name for name, metric in metrics.items() if "expected_devices" not in metric)


def asked_metric(options: argparse.Namespace, texts: Sequence[str]) -> AskedMetric:
    """The metric that options describe.

    Args:
        options: of the command, without anything missing or needless.
        texts: strings to discover that devices might hold.
    """
    return AskedMetric(
        kind=options.kind,
        epsilon=options.epsilon,
        values=options.values,
        most=options.most,
        ends=None if options.ends is None else tuple(options.ends),
        every=options.every or "day",
        discover=bool(options.discover),
        longest=options.longest,
        alphabet=options.alphabet,
        devices=options.devices,
        share=options.share,
        difference=options.difference,
        width=options.width,
        candidates=options.candidates,
        days=options.days,
        texts=tuple(texts),
    )


def missing_or_needless(options: argparse.Namespace) -> str | None:
    """What is wrong with the options that describe a metric; None if nothing is."""
    kind = options.kind
    if kind is None or options.epsilon is None:
        return "give FILE, or --type and --epsilon"
    if kind == "attributes":
        return "attributes need a FILE: they have names and domains"
    if options.most is not None and kind != "set":
        return "--most belongs to --type set"
    if kind == "category" and options.values is None:
        return "--type category needs --values N, the number of its values"
    if kind not in ("category", "set") and options.values is not None:
        return "--values belongs to --type category and set"
    if options.values is not None and options.values > MAX_VALUES:
        instead = "--type string" if kind == "category" else "--type set without --values"
        return f"a {kind} has at most {MAX_VALUES:,} values: plan {instead} for more"
    if kind in TYPES_WITH_RANGE and options.ends is None:
        return f"--type {kind} needs --range LOW HIGH"
    if kind not in TYPES_WITH_RANGE and options.ends is not None:
        return "--range belongs to --type number and distribution"
    if options.discover and kind != "string":
        return "--discover belongs to --type string"
    if not options.discover and (options.longest, options.alphabet) != (None, None):
        return "--longest and --alphabet belong to --discover"
    return None
