"""Mechanisms over a known list of items, one file each."""
