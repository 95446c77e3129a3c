"""Trains the model of letters that is shipped: ``python -m tools.letters --help``."""
