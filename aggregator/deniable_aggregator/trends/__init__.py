"""Series and changes over time."""
