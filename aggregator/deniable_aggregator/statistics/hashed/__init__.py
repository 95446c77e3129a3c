"""Strings that were hashed: sketches and Bloom filters, with the law of an absent string."""
