"""From a value, or the absence of one, to a stored report."""
