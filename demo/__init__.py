"""The whole road on real data: devices, HTTP, the aggregator, estimates beside the truth."""
