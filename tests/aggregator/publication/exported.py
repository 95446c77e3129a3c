"""A signed export of made-up numbers, with texts that try to be more than text."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable_aggregator.answers.registry_history import (
    RegistryHistory,
    chain_entry,
    registered_entry,
    removed_entry,
)
from deniable_aggregator.telling.publication.export import compile_export, sign_export
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_shared import registry
from tests.aggregator.publication.estimated import TallySource
from tests.aggregator.simulated import drawn

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = b64encode(KEY.public_key().public_bytes_raw()).decode()
OTHER_KEY = b64encode(
    Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
).decode()

HOSTILE = ("<script>alert(1)</script>", "=1+1", "שלום", "a|b*c*", "{{ 7 * 7 }}", "</title>&amp;")
TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 2.0
[metrics.plugin]
type = "category"
values = ["<script>alert(1)</script>", "=1+1", "שלום", "a|b*c*", "{{ 7 * 7 }}", "</title>&amp;"]
complete = true
epsilon = 3.0
[metrics.seconds]
type = "number"
range = [0, 10]
every = "week"
epsilon = 1.5
[metrics.late]
type = "boolean"
epsilon = 0.5
"""
REGISTRY = registry.parse(TEXT)
SHIPPED = TEXT.partition("[metrics.late]")[0]
"""What the application ships since one metric was removed."""

HELD = {"theme": (9_000, 5_000, 1_000), "plugin": (5_000, 4_000, 3_000, 2_500, 400, 100)}


def history() -> RegistryHistory:
    """Four metrics were registered, the limits of one changed later, and one was removed.

    Two of them are not published.
    """
    entries = []
    for act, name, epoch in (
        ("registered", "theme", 20_000),
        ("registered", "plugin", 20_000),
        ("limits changed", "theme", 20_009),
        ("registered", "late", 20_010),
        ("registered", "seconds", 20_010),
        ("removed", "late", 20_011),
    ):
        if act == "removed":
            entry = removed_entry(name, epoch)
        else:
            entry = registered_entry(act, REGISTRY.metrics[name], epoch)
        entries.append(chain_entry("flightdeck", entries[-1] if entries else None, entry))
    return RegistryHistory(application="flightdeck", entries=entries, head=entries[-1].hash)


def publications():
    """Of both metrics."""
    made = []
    for name, held in HELD.items():
        spec = REGISTRY.metrics[name].spec
        counts = drawn(spec, np.array(held), np.random.default_rng(1))
        made.append(publish(TallySource([(spec, counts)]), name, policy=Policy(500)))
    return made


def export():
    """All of it, not signed."""
    return compile_export(publications(), history())


def document() -> bytes:
    """The file."""
    return sign_export(export(), KEY)
