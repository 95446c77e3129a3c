"""Transforms and hashing over arrays."""
