"""Keeping: what may not be lost: the store, uploads on their way into it, keys, settings."""
