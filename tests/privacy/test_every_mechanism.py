"""No mechanism lacks a part: what CONTRIBUTING asks of a new one is looked for in all of them."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from deniable._disclosure.explain import explain
from deniable.randomizers import randomizer_for
from deniable.randomizers.base import RANDOMIZERS
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.base import TALLIES
from deniable_shared.mechanisms import MECHANISMS, Mechanism
from deniable_shared.spec import TYPES
from tests.aggregator.fakes import checks_of
from tests.privacy.conformance import MechanismConformance, secret_of, seeded
from tests.vectors import make

PACKAGE = "deniable_shared.mechanisms."
DOCUMENT = Path(__file__).parents[2] / "docs" / "mechanisms.md"
REPORTS = 30


def subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


CONCRETE = sorted(
    {
        each
        for each in subclasses(Mechanism)
        if each.__module__.startswith(PACKAGE) and not each.__abstractmethods__
    },
    key=lambda each: each.__name__,
)


@pytest.fixture(scope="module")
def conforming():
    """The spec with which each mechanism passes the conformance suite."""
    for path in Path(__file__).parent.glob("test_*.py"):
        import_module(f"tests.privacy.{path.stem}")
    suites = [suite for suite in subclasses(MechanismConformance) if hasattr(suite, "spec")]
    return {type(suite.spec.mechanism): suite for suite in suites}


@pytest.mark.parametrize("mechanism", CONCRETE)
def test_it_is_registered_everywhere(mechanism):
    assert MECHANISMS[mechanism.name] is mechanism
    assert mechanism in RANDOMIZERS
    assert mechanism in TALLIES
    assert mechanism.types
    assert mechanism.types <= set(TYPES)


@pytest.mark.parametrize("mechanism", CONCRETE)
def test_it_conforms_and_its_reports_are_explained_and_checked(mechanism, conforming):
    suite = conforming[mechanism]
    spec, randomizer = suite.spec, randomizer_for(suite.spec, seeded("every mechanism"))
    item = suite.encoded(spec, suite.population[0])
    reports = [randomizer.report(item, secret_of(device)) for device in range(REPORTS)]
    assert all(explain(spec, report).sentence for report in reports)
    tally = tally_for(spec)
    counted, stored = tally.fold(b"".join(reports))
    assert counted == REPORTS
    assert any(check.name == "bounds" for check in checks_of(tally, stored, counted))


@pytest.mark.parametrize("mechanism", CONCRETE)
def test_it_has_vectors_and_a_section_in_the_document(mechanism):
    vectors = json.loads((make.FOLDER / "reports.json").read_text(encoding="utf-8"))
    assert mechanism.name in {vector["spec"]["mechanism"]["name"] for vector in vectors}
    headings = re.findall(r"^#+ (.+)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert mechanism.name in headings
