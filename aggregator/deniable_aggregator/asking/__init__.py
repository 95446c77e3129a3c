"""Asking an aggregator: its address and token, the days that are meant, and typed answers."""
