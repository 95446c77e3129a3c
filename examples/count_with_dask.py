"""Counts the reports of an archive on a Dask cluster."""

import sys

import pyarrow.parquet as pq
from distributed import Client

from deniable_aggregator.answering.engines import Kernel, dask_cluster, report_files

if __name__ == "__main__":
    registry, archive, result = sys.argv[1:]
    kernel = Kernel.of_registry(registry)
    with Client(n_workers=2, threads_per_worker=1) as client:  # or Client("tcp://scheduler:8786")
        tallies = dask_cluster.count(kernel, report_files(archive), client)
    pq.write_table(tallies, result)
