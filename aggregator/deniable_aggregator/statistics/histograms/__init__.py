"""Histograms from noisy outcomes: reconstruction, limits, quantiles, and tests of their shape."""
