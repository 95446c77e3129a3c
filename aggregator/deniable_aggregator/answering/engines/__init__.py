"""Counting reports on many cores or machines: one kernel, and what runs it.

``Kernel`` counts Arrow batches of reports with the code that the server counts with. Tallies of
parts add up to the tally of the whole, so any engine that can hand a function some files or batches
can run it: `processes` (this machine), `dask_cluster`, and `spark`. The result is a table of
tallies, which ``deniable store load`` puts into a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.answers.extras import require

require("archive", "pyarrow", "fsspec")

from deniable_aggregator.answering.engines.counters import REPORTS, TALLIES  # noqa: E402
from deniable_aggregator.answering.engines.kernel import Kernel, report_files  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: Sequence[str] = ["REPORTS", "TALLIES", "Kernel", "report_files"]
