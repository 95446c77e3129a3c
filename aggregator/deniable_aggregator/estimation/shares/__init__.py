"""The shares of values: each version by itself, and all of them together."""
