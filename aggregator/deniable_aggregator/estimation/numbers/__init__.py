"""Numbers: their means, and their distributions with quantiles."""
