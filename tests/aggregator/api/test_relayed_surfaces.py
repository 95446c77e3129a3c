"""The sentence about relayed reports is the same wherever it is shown."""

from __future__ import annotations

from tests.aggregator.api.test_relayed_route import bring, service  # noqa: F401  a fixture
