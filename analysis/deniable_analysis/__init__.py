"""Answers of an aggregator in a notebook: typed, with sentences, frames and pictures.

    import deniable_analysis as da

    p = da.connect()
    p.metrics
    p["browser"].estimate(top=3)

Importing this loads little: httpx, numpy, pandas, polars and Altair are loaded when they are used.
"""

from __future__ import annotations

try:
    from deniable_analysis.connecting import connect, open  # noqa: A004  it is called da.open
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("deniable"):
        raise
    raise ImportError(
        f"deniable_analysis needs {missing.name}: pip install 'deniable[analysis]'"
    ) from missing
from deniable_aggregator.asking import AskingError
from deniable_analysis import lists
from deniable_analysis.metric import Metric
from deniable_analysis.project import Project
from deniable_analysis.results.estimate_table import EstimateTable
from deniable_analysis.results.estimates import Distribution, Mean, Shares
from deniable_analysis.results.health import Health, HealthOverview
from deniable_analysis.results.metric_list import MetricList
from deniable_analysis.results.result import Result
from deniable_analysis.results.strings import FoundStrings
from deniable_analysis.results.trends import Change, Series
from deniable_analysis.results.written_report import WrittenReport

__all__ = [
    "AskingError",
    "Change",
    "Distribution",
    "EstimateTable",
    "FoundStrings",
    "Health",
    "HealthOverview",
    "Mean",
    "Metric",
    "MetricList",
    "Project",
    "Result",
    "Series",
    "Shares",
    "WrittenReport",
    "connect",
    "lists",
    "open",
]
