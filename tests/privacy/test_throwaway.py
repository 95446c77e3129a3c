"""A mechanism is three files and three import lines: all else follows, from the registry on."""

from __future__ import annotations

import sys
from fractions import Fraction
from importlib import import_module

import msgspec
import pytest
from click.testing import CliRunner

import deniable
from deniable.randomizers import randomizer_for
from deniable.randomizers.base import RANDOMIZERS
from deniable.testing import InMemoryTransport
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.base import TALLIES
from deniable_aggregator.media.pictures.files import save
from deniable_aggregator.telling.figures import figure_of
from deniable_shared import registry, wire
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import MECHANISMS, mechanism_from_description
from tests import command_line
from tests.aggregator.fakes import checks_of
from tests.aggregator.served import number, numbers
from tests.aggregator.service import APPLICATION, TODAY, Clock, serving
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.privacy.specs import category

REGISTRY = f"""
registry = 1
application = "{APPLICATION}"
[budget]
epsilon_per_day = 4
epsilon_lifetime = 40
[metrics.theme]
type = "category"
values = ["light", "dark", "system", "sepia", "night"]
complete = true
epsilon = 1.5
mechanism = "copied"
"""
HONEST_REPORTS = 20_000


@pytest.fixture(scope="module", autouse=True)
def copied():
    """The class of the mechanism, which is known only while these tests run."""
    tables = MECHANISMS, RANDOMIZERS, TALLIES
    before = [dict(table) for table in tables]
    yield import_module("tests.privacy.throwaway").CopiedHadamardResponse
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
    for name in [name for name in sys.modules if name.startswith("tests.privacy.throwaway")]:
        del sys.modules[name]


class TestCopiedHadamardResponse(MechanismConformance):
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def specs(cls, copied):
        def spec_over(size, epsilon):
            names = " ".join(f"item{index}" for index in range(size))
            return category(names, copied.for_epsilon(size, Fraction(epsilon)))

        cls.spec = spec_over(6, "1.5")
        cls.small = [
            (spec_over(size, epsilon), Fraction(epsilon), ("item0", "item1", f"item{size - 1}"))
            for size, epsilon in [(2, "0.5"), (6, "0.25"), (9, "4")]
        ]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return type(mechanism).for_epsilon(mechanism.size, Fraction(mechanism.epsilon) / factor)

    def out_of_range(self):
        return [b"\x0e", b"\xff"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Honest reports of two days a week apart: on the first, everybody has a light theme."""
    spec = registry.parse(REGISTRY).metrics["theme"].spec
    randomizer = randomizer_for(spec, seeded("honest"))
    with serving(tmp_path_factory.mktemp("store") / "store.db") as running:
        assert running.register(REGISTRY).status_code == 200
        for epoch, value in ((TODAY - 7, "light"), (TODAY, "dark")):
            item = spec.encode(value)
            reports = (randomizer.report(item, secret_of(1)) for _ in range(HONEST_REPORTS))
            part = wire.Part(spec.digest, epoch, b"".join(reports))
            body = wire.encode(wire.Upload(epoch.to_bytes(wire.ID_BYTES, "big"), (part,)))
            assert running.send(body).status_code == 204
        running.running.inbox_fold.fold(seconds=60)
        yield running


def test_the_registry_knows_it_and_a_reviewer_reads_about_it(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY, encoding="utf-8")
    result = CliRunner().invoke(command_line.deniable, ["check", str(file)])
    assert result.exit_code == 0, result.output
    assert "copied Hadamard response (copied)" in result.output


def test_a_device_records_it_and_explains_what_it_said(tmp_path):
    file, transport = tmp_path / "metrics.toml", InMemoryTransport()
    file.write_text(REGISTRY, encoding="utf-8")
    options = {"directory": tmp_path / "device", "consent": True, "background": False}
    with deniable.Client(file, transport=transport, clock=Clock(), **options) as client:
        assert client.record("theme", "dark")
        client.flush()
        (report,) = client.disclosure().reports
    assert report.sentence.startswith(("All answers were sorted into 2 groups at random", "Said"))
    (part,) = transport.reports
    with serving(tmp_path / "store.db") as running:
        running.register(REGISTRY)
        for body in transport.bodies:
            assert running.send(body).status_code == 204
        running.running.inbox_fold.fold(seconds=60)
        spec = registry.parse(REGISTRY).metrics["theme"].spec
        assert part.digest == spec.digest
        assert running.store.tallies.total(tally_for(spec), 0, TODAY + 1).reports == 1


def test_shares_sums_and_changes_are_estimated(service):
    days = {"before": format_day(TODAY - 7), "after": format_day(TODAY)}
    wanted = {"combined": ["light", "dark"]}
    answer = service.ask("/v1/metrics/theme/estimate", method="POST", json=wanted).get_json()
    light, dark = numbers(answer, "share")
    assert light["estimate"] == pytest.approx(0.5, abs=0.05)
    assert light["low"] < 0.5 < light["high"]
    assert 0 < light["shift_if_fake"] < 0.1
    assert answer["head"]["meanings"]["combined"].endswith("covariances of the values: exact")
    together = number(answer, "combined")
    assert together["low"] < 1 < together["high"]
    change = service.ask("/v1/metrics/theme/change", query_string=days).get_json()
    clear = numbers(change, "difference in share", told=True)
    assert {row["estimate"] > 0 for row in clear} == {True, False}
    assert dark["told"]


def test_it_is_drawn(service, tmp_path):
    answer = service.ask("/v1/metrics/theme/estimate").get_json()
    save(figure_of(msgspec.convert(answer, Answer)), tmp_path / "shares.svg")
    assert "copied Hadamard response" in (tmp_path / "shares.svg").read_text(encoding="utf-8")


def test_its_honest_reports_are_not_called_forged(service, copied, monkeypatch):
    """With the bounds of randomized response, which were a default once, all of them would be."""
    health = service.ask("/v1/metrics/theme/health").get_json()
    assert health["head"]["health"]["verdict"] == "ok"
    made = [each for each in health["checks"] if "name" in each and "key" not in each]
    assert [check["name"] for check in made] == ["bounds"] * 2
    assert all(check["p"] > 0.5 for check in made)
    spec = registry.parse(REGISTRY).metrics["theme"].spec
    support = spec.mechanism.support
    monkeypatch.setattr(copied, "outcome_bounds", lambda _: (support.q, support.p))
    stored = service.store.tallies.total(tally_for(spec), TODAY, TODAY)
    (check,) = checks_of(tally_for(spec), stored.cells, HONEST_REPORTS)
    assert check.p == 0.0


def test_what_is_not_registered_is_refused_and_taken_for_nothing_else(copied, monkeypatch):
    monkeypatch.delitem(RANDOMIZERS, copied)
    monkeypatch.delitem(TALLIES, copied)
    tally_for.cache_clear()
    spec = registry.parse(REGISTRY).metrics["theme"].spec
    with pytest.raises(ParameterError, match="registered randomizer, got 'copied'"):
        randomizer_for(spec, seeded("none"))
    with pytest.raises(ParameterError, match="registered tally, got 'copied'"):
        tally_for(spec)
    monkeypatch.delitem(MECHANISMS, "copied")
    with pytest.raises(ParameterError, match="a known mechanism"):
        mechanism_from_description(spec.mechanism.description())


@pytest.mark.parametrize("fact", ["outcome_bounds", "decode", "support", "epsilon"])
def test_a_mechanism_that_leaves_out_what_has_no_default_cannot_be_made(copied, fact):
    namespace = {name: value for name, value in vars(copied).items() if name != fact}
    lacking = type("Lacking", copied.__bases__, {**namespace, "name": f"without {fact}"})
    with pytest.raises(TypeError, match=fact):
        lacking(size=4, flip=1)
