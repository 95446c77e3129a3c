"""Registry files: what applications declare of their metrics, read and resolved to specs."""

from __future__ import annotations

from deniable_shared.registry.discovery import with_models
from deniable_shared.registry.loading import (
    DEFAULT_DEVICES,
    MAX_DEVICES,
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    Budget,
    Metric,
    Registry,
    load,
    parse,
)
from deniable_shared.registry.relay import Relay

__all__ = [
    "DEFAULT_DEVICES",
    "MAX_DEVICES",
    "MAX_EPSILON_LIFETIME",
    "MAX_EPSILON_PER_DAY",
    "Budget",
    "Metric",
    "Registry",
    "Relay",
    "load",
    "parse",
    "with_models",
]
