"""Answers of an aggregator in a notebook: typed, with sentences, frames and charts."""
