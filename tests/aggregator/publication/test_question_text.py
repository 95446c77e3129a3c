"""What a page says that devices are asked."""

from __future__ import annotations

import pytest

from deniable_aggregator.telling.publication.document import question_in_words
from deniable_shared import registry

REGISTRY = registry.parse(
    """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.crash]
type = "boolean"
every = "week"
epsilon = 1.0
[metrics.many]
type = "category"
values = ["a 1","b","c","d","e","f","g","h","i","j","k","l","m"]
complete = true
epsilon = 1.0
[metrics.split]
type = "category"
values = ["x", "y"]
complete = true
epsilon = 2.0
segment = { name = "channel", values = ["stable", "beta"], other = "unknown" }
[metrics.seconds]
type = "number"
range = [0, 2.5]
epsilon = 1.0
[metrics.word]
type = "string"
every = "month"
epsilon = 4.0
[metrics.used]
type = "attributes"
epsilon = 2.0
[metrics.used.attributes]
search = "boolean"
export = "boolean"
"""
)


class Version:
    def __init__(self, name):
        self.canonical = REGISTRY.metrics[name].spec.canonical_text()


@pytest.mark.parametrize(
    ("metric", "asked"),
    [
        ("crash", "Yes or no, at most once a week."),
        ("many", 'One of 13 values, at most once a day: "a 1", b, c, d, e, f, g, h, i, j, k, l '
                 "and 1 more."),
        ("split", "One of 2 values, at most once a day: x, y. Together with channel: stable, beta, "
                  '"unknown".'),
        ("seconds", "A number from 0 to 2.5, at most once a day."),
        ("word", "A text, at most once a month."),
        ("used", "2 attributes, at most once a day: search, export."),
    ],
)  # fmt: skip
def test_each_type_has_its_sentence(metric, asked):
    assert question_in_words(Version(metric)) == asked
