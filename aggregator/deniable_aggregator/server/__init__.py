"""Runs the application: requests, deadlines, logs, Prometheus."""
