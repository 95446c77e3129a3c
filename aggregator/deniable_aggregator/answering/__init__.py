"""Answering: from stored sums to estimates, series, changes, discoveries and verdicts."""
