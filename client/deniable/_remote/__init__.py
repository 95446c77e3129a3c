"""Signed configuration from the server."""
