"""Counts the reports of an archive with Spark."""

import sys

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from deniable_aggregator.answering.engines import Kernel, report_files, spark

if __name__ == "__main__":
    registry, archive, result = sys.argv[1:]
    session = SparkSession.builder.master("local[2]").getOrCreate()  # or of a cluster
    tallies = spark.count(Kernel.of_registry(registry), report_files(archive), session)
    pq.write_table(tallies, result)
