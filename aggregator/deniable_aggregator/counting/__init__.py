"""Counting: reports to sums, and sums to estimates; it knows no store and no web."""
