"""Whether the reports of a metric look like those of devices."""
