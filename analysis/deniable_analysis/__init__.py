"""Answers of an aggregator in a notebook: typed, with sentences, frames and pictures.

    import deniable_analysis as da

    p = da.connect()
    p.metrics
    p["browser"].estimate(top=3)

Importing this loads little: httpx, numpy, pandas and polars are loaded when they are used.
"""

from __future__ import annotations

try:
    from deniable_analysis.project import connect, open  # noqa: A004  it is called da.open
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("deniable"):
        raise
    raise ImportError(
        f"deniable_analysis needs {missing.name}: pip install 'deniable[analysis]'"
    ) from missing
from deniable_aggregator.asking import AskingError
from deniable_analysis import lists
from deniable_analysis.metric import Metric
from deniable_analysis.overviews import EstimateTable, HealthOverview, MetricList, WrittenReport
from deniable_analysis.project import Project
from deniable_analysis.result import Result

__all__ = [
    "AskingError",
    "EstimateTable",
    "HealthOverview",
    "Metric",
    "MetricList",
    "Project",
    "Result",
    "WrittenReport",
    "connect",
    "lists",
    "open",
]
