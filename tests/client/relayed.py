"""Registries with a relay, and its key, for tests."""

from __future__ import annotations

from deniable_shared.registry import parse
from deniable_shared.sealing import HYBRID, Opener, PrivateKey, unpack_write_key

KEY = PrivateKey.generate()
HYBRID_KEY = PrivateKey.generate(HYBRID)
OPENER = Opener([KEY, HYBRID_KEY])
WRITE_KEY = unpack_write_key(bytes(range(38)))

METRICS = """
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0

[metrics.late]
type = "boolean"
epsilon = 1.0
every = "week"
relay = "required"

[metrics.size]
type = "boolean"
epsilon = 0.5
every = "month"

[metrics.first]
type = "boolean"
epsilon = 0.5
every = "once"

[metrics.crash]
type = "category"
values = ["startup", "export"]
absent = "none"
epsilon = 0.5
relay = "required"

[metrics.kept]
type = "boolean"
epsilon = 0.5
repeat = "memoize"
epsilon_permanent = 1.0
"""


def relayed(url="https://relay.example.org", metrics=METRICS, key=KEY):
    """A registry whose uploads go to a relay."""
    return parse(
        'registry = 1\napplication = "flightdeck"\n'
        "[budget]\nepsilon_per_day = 8.0\nepsilon_lifetime = 80.0\n"
        f'[relay]\nurl = "{url}"\nkey = "{key.public.text}"\n' + metrics
    )
