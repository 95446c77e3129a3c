"""Mechanisms over numbers of a range: means and histograms, one file each."""
