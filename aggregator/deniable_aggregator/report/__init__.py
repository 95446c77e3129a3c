"""Reports of all metrics over some days, in one file."""
