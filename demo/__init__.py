"""A demonstration on real data: devices, HTTP, the aggregator, and estimates beside the truth."""
