"""Transforms, bit sums and hashing over arrays: fast, exact, and without knowledge of metrics."""
