"""What is a clear change is one on every surface that is asked the same question."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.surfaces.deployment import RELEASE

AFTER = RELEASE, RELEASE + timedelta(6)
BEFORE = AFTER[0] - timedelta(7), AFTER[0] - timedelta(1)
METRICS = ("theme", "crash", "mode", "battery", "startup_seconds")
DIFFERENCES = ("difference in share", "difference in mean", "difference in quantile", "distance")


def told(rows):
    """Which numbers are clear changes."""
    return {
        (row["measure"], row.get("value"), row.get("quantile")): bool(row.get("told"))
        for row in rows
        if row["measure"] in DIFFERENCES and not row.get("segment")
    }


@pytest.mark.parametrize("metric", METRICS)
def test_the_table_of_estimates_the_answer_and_the_command_agree(asker, metric):
    before, after = ("..".join(map(str, days)) for days in (BEFORE, AFTER))
    query = {"before": before, "after": after}
    answer = asker.service.ask(f"/v1/metrics/{metric}/change", query_string=query).get_json()
    since, until = map(str, AFTER)
    query = {"period": "week", "metric": metric, "since": since, "until": until}
    table = asker.service.ask("/v1/estimates", query_string=query).get_json()["rows"]
    assert told(answer["numbers"])
    assert told(table) == told(answer["numbers"])
    printed = asker.run("change", metric, "--before", before, "--after", after)
    assert ("Clear change" in printed) == any(told(answer["numbers"]).values())
