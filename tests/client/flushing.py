"""What a flush has done, without the words for what went wrong, which have tests of their own."""

from __future__ import annotations


def counts(result):
    """How many reports were sent, are pending and were dropped."""
    return result.sent, result.pending, result.dropped
