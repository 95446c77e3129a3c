"""``python -m benchmarks.discovery``: how many popular strings that nobody listed are found."""
