"""What was counted of a version of a metric, day by day and key by key, as columns in memory."""
