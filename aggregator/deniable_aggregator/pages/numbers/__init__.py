"""The part of a page about the distribution of a number."""
