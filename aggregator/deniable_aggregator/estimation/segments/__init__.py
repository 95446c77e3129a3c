"""Metrics with segments: how large these are, and the shares of values within one."""
