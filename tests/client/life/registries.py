"""The application's registry in its three releases, and which values devices record.

The second release changes some epsilons, adds a metric, removes one, renames one, and has a smaller
daily budget; so does the third, whose lifetime budget is smaller, too.
"""

from __future__ import annotations

import string
from functools import cache

from deniable_shared import registry as registries
from tests.client.signing import PUBLIC

HEAD = """
registry = 1
application = "longlife"
[remote]
key = "{key}"
[budget]
epsilon_per_day = {day}
epsilon_lifetime = {life}
"""
METRICS = {
    "theme": 'type = "category"\nvalues = ["light", "dark"]\nother = "another"\nepsilon = 1.0',
    "flag": 'type = "boolean"\nepsilon = 0.5\nevery = "week"',
    "plan": 'type = "category"\nvalues = ["free", "paid"]\ncomplete = true\nepsilon = 1.0\n'
    'every = "month"',
    "language": 'type = "string"\nepsilon = 1.5',
    "phrase": 'type = "string"\ndiscover = true\nepsilon = 2.0\nevery = "week"',
    "city": 'type = "category"\nvalues = [CITIES]\ncomplete = true\nepsilon = 0.99\n'
    'repeat = "memoize"\nepsilon_permanent = 1.0\nmechanism = "lgrr"',
    "nick": 'type = "string"\nepsilon = 0.5\nrepeat = "memoize"\nepsilon_permanent = 1.0\n'
    'mechanism = "rappor"\nevery = "week"',
    "crash": 'type = "category"\nvalues = ["startup", "editor"]\nabsent = "none"\n'
    'other = "elsewhere"\nepsilon = 0.5',
    "printing": 'type = "category"\nvalues = ["paper", "pdf"]\nabsent = "none"\nepsilon = 0.5\n'
    'every = "week"',
    "command": 'type = "category"\nvalues = ["build", "login"]\nother = "another"\nepsilon = 0.5\n'
    'every = "week"\npick = "random"',
    "flight": 'type = "attributes"\nepsilon = 0.5\n[metrics.flight.attributes]\n'
    'carrier = { values = ["AA", "DL"], other = "another" }\nlate = "boolean"',
    "load": 'type = "number"\nrange = [0, 8]\nepsilon = 1.0\ndelta = 1e-6\nmechanism = "gaussian"',
    "pages": 'type = "distribution"\nrange = [0, 90]\nbins = 16\nepsilon = 0.75\nevery = "week"',
    "dark": 'type = "boolean"\nepsilon = 0.5\n'
    'segment = { name = "channel", values = ["stable", "beta"], other = "unknown" }',
    "installed": 'type = "boolean"\nepsilon = 0.25\nevery = "once"',
    "bygone": 'type = "boolean"\nepsilon = 0.25\nexpires = 2026-10-10',
}
CITIES = [f"city {letter}" for letter in string.ascii_lowercase[:16]]
"""Sixteen, so that a permanent answer is seldom the true value, and all together cost 16 nats."""

ABSENCE = ("crash", "printing")
PICKED = "command"
THINNED = {"language": 0.5, "theme": 0.5}
DISABLED = ("flight", "crash")

MARK = "Quelq"
"""With this begins every recorded text that no list has. It must not be found on the device."""

RELEASES = 3
ADDED = {"zoom": 'type = "boolean"\nepsilon = 0.5', "menu": 'type = "boolean"\nepsilon = 0.5'}


@cache
def release(number):
    """The registry of a release, in [0, 3)."""
    return registries.parse(text_of(number))


def text_of(number):
    """The metrics.toml of a release."""
    metrics, day, life = dict(METRICS), 12.0, 400.0
    if number >= 1:
        metrics["theme"] = metrics["theme"].replace("1.0", "0.7")
        metrics["city"] = metrics["city"].replace("0.99", "0.98")
        metrics["printing"] = metrics["printing"].replace("0.5", "0.75")
        metrics["zoom"] = ADDED["zoom"]
        metrics["badge"] = metrics.pop("flag")
        del metrics["pages"]
        day = 7.0
    if number >= 2:
        metrics["menu"] = ADDED["menu"]
        metrics["theme"] = metrics["theme"].replace('"dark"]', '"dark", "system"]')
        metrics["moniker"] = metrics.pop("nick")
        del metrics["load"]
        day, life = 4.0, 250.0
    cities = ", ".join(f'"{city}"' for city in CITIES)
    text = HEAD.format(key=PUBLIC, day=day, life=life)
    for name, fields in metrics.items():
        text += f"[metrics.{name}]\n" + fields.replace("CITIES", cities) + "\n"
    return text


def value_of(name, random):
    """A value for a metric, as (value, segment, whether the metric has a place for it).

    A text that no list has begins with `MARK`.

    Args:
        name: the metric's.
        random: decides.
    """

    def mark():
        return MARK + "".join(random.choices(string.ascii_letters, k=11))

    segment = None
    if name in ("theme", "crash", "command") and random.random() < 0.4:
        value = mark()
    elif name == "theme":
        value = random.choice(["light", "dark"])
    elif name == "command":
        value = random.choice(["build", "login"])
    elif name == "plan":
        value = random.choice(["free", "paid"])
    elif name in ("language", "phrase", "nick", "moniker"):
        value = mark()
    elif name == "city":
        value = CITIES[11]  # always the same, so that its permanent answer is seen
    elif name == "crash":
        value = random.choice(["startup", "editor"])
    elif name == "printing":
        value = random.choice(["paper", "pdf", mark()])
    elif name == "flight":
        value = {"carrier": random.choice(["AA", mark()]), "late": random.random() < 0.5}
    elif name in ("load", "pages"):
        value = random.uniform(-10.0, 100.0)
    else:
        value = random.random() < 0.5
        if name == "dark":
            segment = random.choice([None, "stable", "beta", mark()])
    return value, segment, name != "printing" or value in ("paper", "pdf")
