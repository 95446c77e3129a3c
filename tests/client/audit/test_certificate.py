"""The certificate, as the checker in another language reads it; and as it refuses altered ones."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from deniable._audit import sections
from deniable._audit.laws import draws
from deniable_shared import installed
from deniable_shared import registry as registries
from deniable_shared.exact_bounds import log_upper
from deniable_shared.mechanisms import (
    MECHANISMS,
    DiscreteGaussian,
    Hybrid,
    OptimizedLocalHashing,
    RandomizedResponse,
    SampledAttribute,
)
from tests.client.audit.registries import ITEMS, ONE, SMALL, audit, registry_of
from tests.privacy.specs import attribute, category, number, record

ROOT = Path(__file__).parents[3]
CHECKER = ROOT / "docs" / "reviewer" / "check-certificate.mjs"
NODE = shutil.which("node")

pytestmark = pytest.mark.service
needs_node = pytest.mark.skipif(
    NODE is None and not os.environ.get("DENIABLE_REQUIRE_NODE"),
    reason="node is not installed; make node installs it on Debian and Ubuntu",
)


@pytest.fixture(scope="module")
def certificate():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "MOST_PATHS", 1_500)
        for module in (draws, sections):
            patch.setattr(module, "MOST_FIRST", 64)
        return audit(registry_of(*SMALL.values())).to_data()


def nats(ratio):
    """The logarithm of a ratio, rounded up as a mechanism states it."""
    return log_upper(Fraction(ratio))


@pytest.mark.parametrize("name", SMALL)
def test_the_largest_ratio_is_the_one_that_the_mechanism_states(certificate, name):
    mechanism = SMALL[name].mechanism
    found = certificate["metrics"][list(SMALL).index(name)]
    assert found["walks"] or "Floyd" in found["how"]
    if name == "gaussian":
        assert float(Fraction(found["delta"])) == pytest.approx(mechanism.delta, rel=1e-6)
    elif name == "laplace":
        assert nats(found["one_report"]["ratio"]) == pytest.approx(mechanism.epsilon, abs=1e-10)
    else:
        assert nats(found["one_report"]["ratio"]) == mechanism.epsilon
    if mechanism.epsilon_permanent is not None:
        assert nats(found["all_reports"]["ratio"]) == mechanism.epsilon_permanent


def test_every_mechanism_is_among_them():
    """But the trie, which takes a quarter of a minute; see the last test."""
    assert {spec.mechanism.name for spec in SMALL.values()} == set(MECHANISMS) - {"trie"}


def written(data):
    """As `Certificate.to_bytes` writes it."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


@pytest.fixture
def check(tmp_path):
    """Runs the checker; returns its status and what it says."""

    def run(data, *words):
        path = tmp_path / "certificate.json"
        path.write_text(data if isinstance(data, str) else written(data), encoding="utf-8")
        assert NODE is not None, "DENIABLE_REQUIRE_NODE is set, and node is not installed"
        done = subprocess.run(
            [NODE, CHECKER, path, *words], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


@needs_node
def test_every_mechanism_s_ratio_follows_from_its_parameters_by_other_code_too(certificate, check):
    status, said = check(certificate)
    assert status == 0, said
    lines = said.splitlines()
    assert len(lines) == len(SMALL) + 1
    names = {line.split(": ")[1].partition(",")[0] for line in lines[:-1]}
    assert names == {spec.mechanism.name for spec in SMALL.values()}
    assert lines[-1].startswith(f"Consistent: {len(SMALL)} metrics of tests")


def metric(data, mechanism):
    return next(each for each in data["metrics"] if each["mechanism"]["name"] == mechanism)


def another_version(data):
    metric(data, "grr")["spec"] = metric(data, "grr")["spec"].replace("red", "rad")


def another_weight(data):
    """Everywhere but in the laws, with a digest that fits."""
    found = metric(data, "rr")
    flip = found["mechanism"]["flip"]
    found["mechanism"]["flip"] += 1
    found["spec"] = found["spec"].replace(str(flip), str(flip + 1))
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def another_ratio(data):
    found = metric(data, "oue")["one_report"]
    numerator, denominator = found["ratio"].split("/")
    found["ratio"] = f"{int(numerator) - 1}/{denominator}"


def smaller_epsilon(data):
    metric(data, "ht")["stated"]["epsilon"] = "99999/100000"


def larger_epsilon(data):
    metric(data, "ht")["stated"]["epsilon"] = "2/1"


def law_with_another_weight(data):
    law = metric(data, "grr")["one_report"]["laws"][0]
    count, one, other = law["classes"][0].split()
    law["classes"][0] = f"{count} {int(one) + 1} {other}"


def law_without_a_class(data):
    metric(data, "ss")["one_report"]["laws"][0]["classes"].pop()


def kept_answers_left_out(data):
    del metric(data, "lgrr")["all_reports"]


def part_left_out(data):
    metric(data, "smp")["parts"].pop()


def another_hash(data):
    data["installed"]["files"]["deniable/_randomness.py"] = "0" * 64


def another_delta(data):
    numerator, denominator = metric(data, "gaussian")["delta"].split("/")
    metric(data, "gaussian")["delta"] = f"{numerator}/{int(denominator) * 2}"


def compared_loosely(data):
    metric(data, "duchi")["within"] = "1/2"


def another_clear_part(data):
    metric(data, "dbitflip")["one_report"]["in_the_clear"]["classes"] = ["31 1"]


def no_metric(data):
    data["metrics"].clear()


def another_format(data):
    data["format"] = "deniable certificate 2"


def other_epsilon_of_gaussian(data):
    metric(data, "gaussian")["stated"]["epsilon"] = "1/1000"


def larger_delta(data):
    metric(data, "gaussian")["stated"]["delta"] = "1/2"


def nothing_looked_at(data):
    metric(data, "grr")["walks"].clear()


def other_nats(data):
    metric(data, "rr")["one_report"]["nats"] = "0.0100000000"


def endless_exponent(data):
    metric(data, "rr")["stated"]["epsilon"] = f"{10**60}/1"


def endless_noise(data):
    found = metric(data, "gaussian")
    found["mechanism"]["noise"] = 10**15
    found["spec"] = found["spec"].replace('"noise":285', f'"noise":{10**15}')
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def more_looked_at_than_there_is(data):
    metric(data, "grr")["walks"][0]["values"] = 10**6


def less_in_the_file(data):
    metric(data, "grr")["declared"]["epsilon"] = "99/100"


def less_for_all_reports_in_the_file(data):
    metric(data, "losue")["declared"]["epsilon_permanent"] = "199/100"


def nothing_for_all_reports_in_the_file(data):
    del metric(data, "losue")["declared"]["epsilon_permanent"]


def something_for_all_reports_in_the_file(data):
    metric(data, "rr")["declared"]["epsilon_permanent"] = "2/1"


def less_epsilon_of_gaussian_in_the_file(data):
    metric(data, "gaussian")["declared"]["epsilon"] = "999/1000"


def less_delta_in_the_file(data):
    metric(data, "gaussian")["declared"]["delta"] = metric(data, "gaussian")["delta"] + "0"


def no_delta_in_the_file(data):
    del metric(data, "gaussian")["declared"]["delta"]


def less_in_the_file_than_added_noise_tells(data):
    metric(data, "laplace")["declared"]["epsilon"] = "999999/1000000"


def another_period_in_the_file(data):
    metric(data, "grr")["declared"]["every"] = "month"


def nothing_of_the_file(data):
    del metric(data, "grr")["declared"]


def nothing_stated(data):
    del metric(data, "rr")["stated"]


def name_that_every_object_has(data):
    found = metric(data, "rr")
    found["mechanism"]["name"] = "__proto__"
    found["spec"] = found["spec"].replace('"name":"rr"', '"name":"__proto__"')
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def name_with_a_line(data):
    data["metrics"][0]["metric"] = "m0\nConsistent: 1 metric"


def metric_twice(data):
    data["metrics"].append(data["metrics"][0])


def with_files(data, files):
    lines = sorted(f"{file_hash}  {name}\n" for name, file_hash in files.items())
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    data["installed"] |= {"files": files, "digest": digest}


def no_files(data):
    with_files(data, {})


def file_elsewhere(data):
    with_files(data, data["installed"]["files"] | {"deniable/../../passwd": "0" * 64})


CHANGES = {
    another_version: "the digest is not that of the version's text",
    another_weight: "the ratio is not that of the parameters",
    another_ratio: "the ratio is not that of the laws",
    smaller_epsilon: "the ratio is above e^epsilon",
    larger_epsilon: "stated as more than is spent",
    law_with_another_weight: "do not add up to 1",
    law_without_a_class: "do not add up to 1",
    kept_answers_left_out: "all_reports stands without epsilon_permanent",
    part_left_out: "the parts are not those of the mechanism",
    another_hash: "the digest is not that of the files",
    another_delta: "delta is not that of the parameters",
    compared_loosely: "compared loosely",
    another_clear_part: "in the clear does not add up to 1",
    no_metric: "no metric is certified",
    other_epsilon_of_gaussian: "epsilon is not that of the parameters",
    larger_delta: "delta is stated as more than is spent",
    nothing_looked_at: "nothing was looked at",
    other_nats: "nats are not those of the ratio",
    endless_exponent: "an exponent is above 1024",
    endless_noise: "no noise that there is",
    more_looked_at_than_there_is: "more was looked at than there is",
    less_in_the_file: "one_report: the ratio is above e^epsilon of the file",
    less_for_all_reports_in_the_file: "the ratio is above e^epsilon_permanent of the file",
    nothing_for_all_reports_in_the_file: "epsilon_permanent is not in the file, or only there",
    something_for_all_reports_in_the_file: "epsilon_permanent is not in the file, or only there",
    less_in_the_file_than_added_noise_tells: "the ratio is above e^epsilon of the file",
    less_epsilon_of_gaussian_in_the_file: "epsilon is above that of the file",
    less_delta_in_the_file: "delta is above that of the file",
    no_delta_in_the_file: "delta is above that of the file",
    another_period_in_the_file: "does not report as often as the file says",
    nothing_of_the_file: "not built like a certificate",
    nothing_stated: "not built like a certificate",
    name_that_every_object_has: "an unknown mechanism",
    name_with_a_line: "not a name",
    metric_twice: "certified twice",
    no_files: "no file was audited",
    file_elsewhere: "not a path in the packages",
    another_format: "not a certificate that this checker knows",
}


@needs_node
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_certificate_is_refused(certificate, check, change):
    changed = copy.deepcopy(certificate)
    change(changed)
    assert changed != certificate
    status, said = check(changed)
    assert status == 1
    assert "REFUSED" in said
    assert CHANGES[change] in said


@needs_node
def test_small_and_large_epsilons_and_very_many_records_are_certified_too(monkeypatch, check):
    """A hybrid that is its bit only, an epsilon that is no double, seeds with 2,981 buckets."""
    monkeypatch.setattr(sections, "MOST_PATHS", 1_500)
    flags = {f"flag{number}": RandomizedResponse.for_epsilon(2, ONE) for number in range(64)}
    specs = (
        number(Hybrid.for_epsilon(Fraction(1, 100))),
        number(DiscreteGaussian(steps=1, noise=140_000, nanonats=10**7)),
        record(SampledAttribute(inner=(*flags.values(),)), *map(attribute, flags)),
        category(ITEMS, OptimizedLocalHashing.for_epsilon(40, Fraction(8))),
    )
    assert specs[0].mechanism.heads == 0
    found = audit(registry_of(*specs)).to_data()
    assert check(found)[0] == 0
    records, seeds = (found["metrics"][place]["walks"] for place in (2, 3))
    assert int(records[0]["of_values"]) == 2**64
    assert sum(walk["paths"] for walk in seeds) < 50 * 2_981


@needs_node
def test_a_certificate_that_says_something_twice_is_refused(certificate, check):
    """Readers differ in which of two they take."""
    text = written(certificate)
    for words in ('"python":', '"flip":', '"digest":'):
        status, said = check(text.replace(words, f'{words} "other",\n{words}', 1))
        assert status == 1
        assert "says something twice" in said


@needs_node
def test_what_is_no_certificate_is_refused(check):
    for text in ("", "[]", "{", '{"format": "deniable certificate 1"}'):
        status, said = check(text)
        assert status == 1
        assert "REFUSED" in said


@needs_node
def test_installed_files_are_compared_with_those_that_were_audited(certificate, check, tmp_path):
    folder = tmp_path / "installed"
    for name in certificate["installed"]["files"]:
        package, _, rest = name.partition("/")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((installed.package_folder(package) / rest).read_bytes())
    status, said = check(certificate, folder)
    assert status == 0, said
    assert "files are those audited" in said
    with (folder / "deniable" / "_randomness.py").open("a") as file:
        file.write("\n")
    status, said = check(certificate, folder)
    assert status == 1
    assert "deniable/_randomness.py is not the file that was audited" in said


@needs_node
@pytest.mark.slow
def test_the_demo_is_certified(check):
    """All of its metrics, strings that are discovered among them: a quarter of a minute."""
    registry = registries.load(ROOT / "demo" / "metrics.toml")
    status, said = check(audit(registry).to_bytes().decode())
    assert status == 0, said
    assert said.count("epsilon at most") == len(registry.metrics)
