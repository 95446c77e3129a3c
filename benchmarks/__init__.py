"""Speed, measured: ``make bench``."""
