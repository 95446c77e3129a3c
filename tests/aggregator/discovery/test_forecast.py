"""Whether a plan's forecast of what is found is true, in a discovery with the client's reports."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.discovery.discover import discover
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import registry
from deniable_shared.planning.discovery import example_of

pytestmark = pytest.mark.audit

REGISTRY = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.term]
type = "string"
discover = true
epsilon = 4
"""
DEVICES = 50_000
TEXTS = (
    *("the", "of", "tea", "in", "map", "music", "weather", "Größe", "search", "shop"),
    *("example.org", "plugin.js", "dark-mode", "kitchen-1", "unicorn", "3.11.7"),
)
RARE = tuple(f"{a}{b}{number}" for a in "bdfgkmnp" for b in "aeiouy" for number in range(100))
TOO_FEW = 0.55
SEED = 12


@pytest.mark.statistics
def test_of_strings_at_the_smallest_share_nine_of_ten_are_found_and_at_half_of_it_hardly_any():
    """Eight of each: at 0.9 fewer than five have a chance of 0.5%; the seed makes it certain."""
    metric = registry.parse(REGISTRY).metrics["term"]
    spec, generator = metric.spec, np.random.default_rng(SEED)
    enough, too_few = TEXTS[::2], TEXTS[1::2]
    least = {text: example_of(metric, text, DEVICES).least_share or 1.0 for text in TEXTS}
    shares = {text: least[text] * (1 if text in enough else TOO_FEW) for text in TEXTS}
    rest = (1 - sum(shares.values())) / len(RARE)
    held = generator.multinomial(DEVICES, [*shares.values(), *[rest] * len(RARE)])
    report = randomizer_for(spec, Randomness(generator.bytes)).report
    payload = b"".join(
        report(spec.encode(text), bytes(32))
        for text, count in zip([*TEXTS, *RARE], held, strict=True)
        for _ in range(count)
    )
    tally = tally_for(spec)
    supports = partial(tally.supports_of_level, tally.count(payload))
    findings = discover(supports, spec.mechanism, spec.letters, spec.salt)
    found = {find.text for find in findings.finds if find.whole}
    assert len(found & set(enough)) >= 5
    assert len(found & set(too_few)) <= 3
