"""The sampling audit: never above the truth, and near enough to it to notice too little noise.

All reports are drawn from seeded bytes, so a test passes always or never. With a fresh seed, a
limit is above the truth with a probability of one in a million at most.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy import stats

from deniable._audit import command, sampling
from deniable._audit.limits import epsilon_at_least, proportion_at_least
from deniable._audit.sampling import sample
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared.commands.entry import main
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SquareWave,
)
from tests.privacy.conformance import NOISE_FACTORS, seeded
from tests.privacy.specs import boolean, category, histogram, sketch, string
from tests.vectors.make import SPECS

pytestmark = pytest.mark.audit

REPORTS = 10_000
TEN = "zero one two three four five six seven eight nine"


@pytest.mark.parametrize("hits", [0, 1, 5, 250, 4_000, 9_999, 10_000])
@pytest.mark.parametrize("wrong", [0.05, 5e-7])
def test_limits_are_those_of_clopper_and_pearson(hits, wrong):
    exact = 0.0 if hits == 0 else stats.beta.ppf(wrong, hits, 10_000 - hits + 1)
    found = proportion_at_least(hits, 10_000, wrong)
    assert found == pytest.approx(exact, rel=1e-6)
    assert found <= exact * (1 + 1e-9)


def test_an_event_of_one_value_alone_shows_much_and_one_of_both_nothing():
    assert epsilon_at_least(5_000, 0, 10_000, 0.0, 1e-6) > 5
    assert epsilon_at_least(5_000, 5_000, 10_000, 0.0, 1e-6) == 0
    assert epsilon_at_least(10, 0, 10_000, 0.01, 1e-6) == 0


MADE = {
    "rr": lambda epsilon: boolean(RandomizedResponse.for_epsilon(2, epsilon)),
    "grr": lambda epsilon: category(TEN, GeneralizedRandomizedResponse.for_epsilon(10, epsilon)),
    "oue": lambda epsilon: category(TEN, OptimizedUnaryEncoding.for_epsilon(10, epsilon)),
    "losue": lambda epsilon: category(
        TEN, MemoizedUnaryEncoding.for_epsilons(10, epsilon, 2 * epsilon)
    ),
    "sketch": lambda epsilon: string(sketch("grr", epsilon, rows=16, buckets=4)),
    "sw": lambda epsilon: histogram(SquareWave.for_epsilon(16, epsilon)),
}


@pytest.mark.statistics
@pytest.mark.parametrize("name", MADE)
def test_too_little_noise_is_noticed_and_enough_is_not(monkeypatch, name):
    """0.7 times the noise that is stated, as a client with a wrong weight would draw it."""
    stated = MADE[name](Fraction(1))
    honest = sample(stated, REPORTS, seeded(name))
    assert not honest.exceeds
    assert honest.lower > 0.6
    for factor in NOISE_FACTORS:
        drawn = MADE[name](1 / factor)
        with monkeypatch.context() as patch:
            patch.setattr(
                sampling,
                "randomizer_for",
                lambda _, source, drawn=drawn: randomizer_for(drawn, source),
            )
            found = sample(stated, REPORTS, seeded(f"{name} {factor}"))
        assert found.exceeds == (factor < 1)


@pytest.mark.statistics
@pytest.mark.parametrize("name", SPECS)
def test_no_shipped_mechanism_exceeds_what_it_states(name):
    found = sample(SPECS[name][0], 1_000, seeded(name))
    assert 0 <= found.lower <= found.stated
    assert not found.exceeds


def test_a_source_that_begins_anew_for_every_report_is_noticed():
    """As after forks that keep the buffer, or with a seed: the weights are right, the noise not."""
    blocks = itertools.cycle([bytes([200] * 64)])
    found = sample(SPECS["rr"][0], 2_000, Randomness(lambda _: next(blocks), 64))
    assert found.exceeds
    assert found.lower > 4


def test_deltas_are_allowed_for():
    """Of gaussian noise more than epsilon may be seen, with the stated probability."""
    spec = SPECS["gaussian"][0]
    assert spec.mechanism.delta > 0
    assert not sample(spec, 4_000, seeded("gaussian")).exceeds


def test_fewer_reports_than_say_anything_are_refused():
    with pytest.raises(ValueError, match="reports must be at least 1,000, got 999"):
        sample(replace(SPECS["rr"][0]), 999)


REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.late]
type = "boolean"
epsilon = 1.0
"""


def run(folder, *options):
    path = folder / "metrics.toml"
    path.write_text(REGISTRY, encoding="utf-8")
    return command.run(command.parser().parse_args([str(path), *options]))


def test_the_command_says_what_the_reports_showed_and_certifies_nothing_of_it(tmp_path, capsys):
    plain, sampled = tmp_path / "plain", tmp_path / "sampled"
    assert run(tmp_path, "--certificate", str(plain)) == 0
    assert "sampled" not in capsys.readouterr().out
    assert run(tmp_path, "--certificate", str(sampled), "--sample", "1000") == 0
    assert "by 1,000 reports of each of two values" in " ".join(capsys.readouterr().out.split())
    assert plain.read_bytes() == sampled.read_bytes()
    assert run(tmp_path, "--json", "--sample", "1000") == 0
    said = json.loads(capsys.readouterr().out)["sampled"]["late"]
    assert said["reports"] == 1_000
    assert 0 <= said["epsilon_at_least"] < 1


def test_reports_that_show_more_than_is_stated_fail_the_audit(tmp_path, capsys, monkeypatch):
    found = sampling.Sample(5_000, 1.25, 1.0)
    monkeypatch.setattr(command, "sample", lambda *_: found)
    certificate = tmp_path / "certificate"
    assert run(tmp_path, "--sample", "5000", "--certificate", str(certificate)) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "an epsilon of at least 1.2500, and 1.0000 is stated" in printed
    assert not certificate.exists()


@pytest.mark.parametrize("number", ["999", "10000001", "many"])
def test_a_number_of_reports_that_says_nothing_or_takes_days_is_refused(tmp_path, capsys, number):
    with pytest.raises(SystemExit) as end:
        main(["audit", str(tmp_path / "metrics.toml"), "--sample", number])
    assert end.value.code == 2
    assert "must be an integer in [1,000, 10,000,000]" in capsys.readouterr().err
