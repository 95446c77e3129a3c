"""Counts the reports of an archive in as many processes as this machine has cores."""

import sys

import pyarrow.parquet as pq

from deniable_aggregator.answering.engines import Kernel, processes, report_files

if __name__ == "__main__":
    registry, archive, result = sys.argv[1:]
    tallies = processes.count(Kernel.of_registry(registry), report_files(archive))
    pq.write_table(tallies, result)
