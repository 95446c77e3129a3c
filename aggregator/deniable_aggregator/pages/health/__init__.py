"""Whether the reports of all metrics, or of one, can be trusted."""
