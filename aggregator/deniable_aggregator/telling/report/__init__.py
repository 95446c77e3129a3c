"""Reports of all metrics over some days: what is asked, and in which order it is read."""
