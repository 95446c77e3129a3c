"""The certificate, as the checker in another language reads it; and as it refuses altered ones."""

from __future__ import annotations

import copy
import json
import os
import re
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
from tests.client.audit.forgeries import CHANGES, metric
from tests.client.audit.registries import ITEMS, ONE, SMALL, audit, registry_of
from tests.privacy.specs import attribute, category, number, record

ROOT = Path(__file__).parents[3]
CHECKER = ROOT / "docs" / "reviewer" / "check-certificate.mjs"
NODE = shutil.which("node")

pytestmark = [pytest.mark.service, pytest.mark.audit("docs/reviewer/check-certificate.mjs")]
needs_node = pytest.mark.skipif(
    NODE is None and not os.environ.get("DENIABLE_REQUIRE_NODE"),
    reason="node is not installed; make install PART=node installs it on Debian and Ubuntu",
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


@pytest.fixture
def installed_copy(certificate, tmp_path):
    """A folder with the files that were audited."""
    folder = tmp_path / "installed"
    for name in certificate["installed"]["files"]:
        package, _, rest = name.partition("/")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((installed.package_folder(package) / rest).read_bytes())
    return folder


@needs_node
def test_installed_files_are_compared_with_those_that_were_audited(
    certificate, check, installed_copy
):
    folder = installed_copy
    status, said = check(certificate, folder)
    assert status == 0, said
    assert "files are those audited (bytecode in __pycache__ is not looked at)" in said
    with (folder / "deniable" / "_randomness.py").open("a") as file:
        file.write("\n")
    status, said = check(certificate, folder)
    assert status == 1
    assert "deniable/_randomness.py is not the file that was audited" in said


@needs_node
@pytest.mark.parametrize("added", ["deniable/_randomness/__init__.py", "deniable/_randomness.so"])
def test_a_file_that_python_would_run_in_the_place_of_an_audited_one_is_found(
    certificate, check, installed_copy, added
):
    (installed_copy / "deniable" / "__pycache__").mkdir()
    (installed_copy / "deniable" / "__pycache__" / "_randomness.pyc").touch()
    assert check(certificate, installed_copy)[0] == 0
    (installed_copy / added).parent.mkdir(exist_ok=True)
    (installed_copy / added).touch()
    status, said = check(certificate, installed_copy)
    assert status == 1
    assert f'"{added}" is installed, and was not audited' in said


@needs_node
def test_a_folder_that_is_linked_into_a_package_is_found(certificate, check, installed_copy):
    (installed_copy / "deniable" / "linked").symlink_to(installed_copy / "deniable_shared")
    status, said = check(certificate, installed_copy)
    assert status == 1
    assert '"deniable/linked" is installed, and was not audited' in said


@needs_node
def test_what_is_printed_is_rounded_up_and_names_delta_and_all_reports(certificate, check):
    said = check(certificate)[1]
    lines = {}
    for name in ("grr", "lgrr", "gaussian"):
        found = metric(certificate, name)
        stated = found["stated"]
        (lines[name],) = re.findall(rf"(?m)^{found['metric']}: .*$", said)
        at_most = [Fraction(each) for each in re.findall(r"at most (\S+?),? ", lines[name])]
        exact = [Fraction(each) for key, each in sorted(stated.items()) if key != "delta"]
        assert len(at_most) == len(exact) == 1 + (name == "lgrr")
        for shown, each in zip(at_most, exact, strict=True):
            assert each <= shown < each + Fraction(1, 10**10)
    assert "one report at most" in lines["lgrr"]
    assert ", all reports of a value at most" in lines["lgrr"]
    (delta,) = re.findall("except with probability delta = (1/[0-9]+),", lines["gaussian"])
    exact = Fraction(metric(certificate, "gaussian")["stated"]["delta"])
    assert exact <= Fraction(delta) < exact * (1 + Fraction(1, 100))


@needs_node
@pytest.mark.slow
def test_the_demo_is_certified(check):
    """All of its metrics, strings that are discovered among them: a quarter of a minute."""
    registry = registries.load(ROOT / "demo" / "metrics.toml")
    status, said = check(audit(registry).to_bytes().decode())
    assert status == 0, said
    assert len(re.findall("epsilon(?:: one report)? at most", said)) == len(registry.metrics)
