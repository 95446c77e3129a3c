"""The aggregator: counts noisy reports, debiases them, and estimates what is popular."""

from __future__ import annotations

try:
    from deniable_aggregator.app import create_app
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.store import Store
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("deniable"):
        raise
    raise ImportError(
        f"the aggregator needs {missing.name}: pip install 'deniable[aggregator]'"
    ) from missing

__all__ = ["Settings", "Store", "create_app"]
