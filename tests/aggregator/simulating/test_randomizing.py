"""Simulated reports are those of the shipped randomizers, from a seed."""

import ast
import inspect
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import deniable
from deniable._arguments import VARIABLES
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.simulating import randomizing
from deniable_aggregator.simulating.draws import Batch
from deniable_aggregator.simulating.population import Deployment, Forgery, Late
from deniable_shared import wire
from deniable_shared.errors import RegistryError
from deniable_shared.registry import parse
from tests.aggregator.simulating.registries import EVERYTHING

ROOT = Path(__file__).parents[3]
MONDAY = date(2026, 1, 5)
THEMES = Batch("theme", 0, "release", 1, ("light", "dark"), (600, 400))


def deployment(**more):
    keys = {"release": 0.9, "partner": 0.1}
    return Deployment(
        (EVERYTHING,), 10, seed=more.pop("seed", 1), first_day=MONDAY, keys=keys, **more
    )


def payloads(uploads):
    """The reports of uploads, by key and by how late they come."""
    found = {}
    for upload in uploads:
        for part in wire.decode(upload.body).parts:
            key = upload.key, upload.late
            found[key] = found.get(key, b"") + part.payload
    return found


def test_reports_are_those_of_the_shipped_randomizer():
    of = deployment()
    spec = of.registry(1).metrics["theme"].spec
    source = of.generator("noise", "theme", 0, "release", 1).bytes
    report = randomizer_for(spec, Randomness(source, randomizing.BUFFER_BYTES)).report
    expected = [report(spec.encode(value), bytes(32)) for value in ["light"] * 600 + ["dark"] * 400]
    assert payloads(randomizing.randomized(of, [THEMES])) == {("release", 0): b"".join(expected)}


def test_another_seed_gives_other_noise():
    noise = [
        payloads(randomizing.randomized(deployment(seed=seed), [THEMES])) for seed in (1, 1, 2)
    ]
    assert noise[0] == noise[1] != noise[2]


@pytest.mark.parametrize("name", ["theme", "startup", "mode", "settings", "printer"])
def test_reports_of_every_type_can_be_counted(name):
    of = deployment()
    spec = of.registry(1).metrics[name].spec
    values = {
        "theme": ("dark", "unheard of"),
        "mode": (("visual", "beta"), ("source", None)),
        "settings": ((("toolbar", "full"), ("spelling", True)),),
        "printer": ("office",),
    }.get(name, ())
    numbers = np.array([1.0, 99.0]) if name == "startup" else np.empty(0)
    batch = Batch(name, 0, "release", 1, values, [3] * len(values), numbers)
    (body,) = payloads(randomizing.randomized(of, [batch])).values()
    tally_for(spec).check(body)
    assert len(body) == batch.reports * spec.mechanism.report_bytes


def test_devices_that_report_once_have_secrets_of_their_own():
    of = deployment()
    batch = Batch("printer", 0, "release", 1, ("office",), (60,))
    spec = of.registry(1).metrics["printer"].spec
    made = randomizing.reports(spec, batch, Randomness(of.generator("x").bytes))
    rows = {report[:2] for report in made}
    assert len(rows) > 20  # each secret decides for a row of the sketch


def test_some_reports_come_late_whatever_their_value():
    of = deployment(late=Late(0.25, 2))
    found = payloads(randomizing.randomized(of, [THEMES]))
    assert {key: len(body) for key, body in found.items()} == {
        ("release", 0): 750,
        ("release", 2): 250,
    }
    early = payloads(randomizing.randomized(deployment(), [THEMES]))
    assert sorted(b"".join(found.values())) == sorted(early["release", 0])


def test_a_large_payload_is_split_into_uploads_that_servers_take(monkeypatch):
    monkeypatch.setattr(randomizing, "UPLOAD_BYTES", 300)
    uploads = randomizing.randomized(deployment(), [THEMES])
    assert all(len(upload.body) < 600 for upload in uploads)
    assert len(payloads(uploads)["release", 0]) == 1_000


def test_no_honest_upload_has_much_of_a_day():
    many = replace(THEMES, counts=tuple(20 * count for count in THEMES.counts))
    uploads = randomizing.randomized(deployment(), [many])
    assert len(uploads) == 40
    assert max(len(payloads([upload])["release", 0]) for upload in uploads) == 500


@pytest.mark.parametrize(
    ("kind", "uploads", "different"),
    [("naive", 1, False), ("patient", 1, True), ("upload", 1, True)],
)
def test_forgers_send_what_they_say(kind, uploads, different):
    forgery = Forgery("theme", "dark", kind, 0.5, range(2, 4), "partner")
    of = deployment(forgeries=(forgery,))
    assert randomizing.forged(of, forgery, 1, 100) is None
    batch, sent = randomizing.forged(of, forgery, 2, 100)
    assert batch.reports == 50
    assert len(sent) == uploads
    body = payloads(sent)["partner", 0]
    assert len(body) == 50
    assert (len(set(body)) > 1) == different


def test_only_the_relay_of_simulations_gives_randomness_another_source():
    """Nobody else passes one, so nothing from outside can reach what devices draw from."""
    given = set()
    for folder in ("client/deniable", "shared/deniable_shared", "aggregator", "analysis"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "Randomness" in text else ():
                called = isinstance(node, ast.Call) and _name(node.func) == "Randomness"
                if called and (node.args or any(each.arg == "source" for each in node.keywords)):
                    given.add(file.relative_to(ROOT).as_posix())
    audits = {name for name in given if name.startswith("client/deniable/_audit/")}
    assert audits  # enumerates outcomes of the shipped code, and makes no reports
    assert given - audits == {
        "aggregator/deniable_aggregator/simulating/randomizing.py",
        "client/deniable/_randomness.py",  # the permanent answers of a device, from its secret
    }


def test_a_device_can_be_given_no_seed():
    arguments = inspect.signature(deniable.Client).parameters
    assert not {name for name in arguments if re.search("seed|source|random|noise", name)}
    assert set(VARIABLES.values()) == {"DENIABLE_ENDPOINT", "DENIABLE_KEY"}
    for place in (
        EVERYTHING.replace("registry = 1", "registry = 1\nseed = 1"),
        EVERYTHING + "seed = 1",
    ):
        with pytest.raises(RegistryError, match="seed"):
            parse(place)


def _name(function):
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
