"""From tallies of one metric to shares, means and histograms with their errors."""
