"""The metrics of a server."""
