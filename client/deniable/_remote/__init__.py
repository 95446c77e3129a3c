"""Signed configuration that the aggregator hands out."""
