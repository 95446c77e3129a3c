"""The archive: reports of closed days in Parquet files, each report in one file."""
