"""Runs the application on granian: requests, deadlines, logs, Prometheus."""
