"""Whether reports look honest: by day, by key, and of all metrics."""
