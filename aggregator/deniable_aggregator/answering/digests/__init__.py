"""Digests: what people are sent of a day or week that is over."""
