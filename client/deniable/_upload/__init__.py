"""Uploading: when reports are sent, and what the aggregator's answers mean for them."""
