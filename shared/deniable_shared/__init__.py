"""What client and aggregator agree on: registry, specs, mechanisms, hashing and the wire."""

__version__ = "0.1.0"
