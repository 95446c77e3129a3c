"""Asking an aggregator: its address and token, the days that are meant, and typed answers."""

from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.http_source import HttpSource
from deniable_aggregator.asking.source import Source

__all__ = ["AskingError", "HttpSource", "Source"]
