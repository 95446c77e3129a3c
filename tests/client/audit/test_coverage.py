"""What the audit says of a metric in its first line: proved, or shown for some values."""

from __future__ import annotations

import pytest

from deniable._audit import audit_metric, sections
from deniable._audit.coverage import coverage
from deniable._audit.method_text import how_it_was_found
from tests.client.audit.registries import SMALL, declared_of, registry_of

pytestmark = pytest.mark.audit

EVIDENCE = " (evidence, no proof for the others)"
SAID = {
    "grr": "proved for all values",
    "losue": "proved for all values",
    "smp": "proved for all values",
    "cms": f"for 24 of endlessly many strings{EVIDENCE}",
    "duchi": "proved for all values",
    "piecewise": "proved for all values",
    "hybrid": "proved for all values",
    "laplace": f"for 5 of 1,048,577 places of the range{EVIDENCE}",
    "olh": f"for all 10 values with 50 of 4,294,967,296 outcomes of the first draw{EVIDENCE}",
    "many subsets": f"for all values with some of their draws{EVIDENCE}",
}


def section_of(name):
    (metric,) = registry_of(SMALL[name]).metrics.values()
    return audit_metric(metric, declared_of(metric.spec)).verdict.section


@pytest.mark.parametrize("name", SAID)
def test_a_proof_is_told_from_evidence(monkeypatch, name):
    monkeypatch.setattr(sections, "MOST_PATHS", 1_500)
    assert coverage(section_of(name)) == SAID[name]


def test_what_is_left_out_inside_another_mechanism_is_said():
    section = section_of("smp")
    first, *others = section.parts
    (walk,) = first.walks
    less = first._replace(walks=(walk._replace(values=2),))
    some = section._replace(parts=(less, *others))
    assert coverage(some) == f"for 2 of 3 items of the grr inside{EVIDENCE}"


def test_the_first_value_s_paths_are_counted_too():
    """Each of the two values of a flag is kept or flipped."""
    (walk,) = section_of("rr").walks
    assert walk.paths == 4


@pytest.mark.parametrize(
    ("name", "reach"), [("laplace", "64 times its scale"), ("gaussian", "16 standard deviations")]
)
def test_it_is_said_how_much_noise_is_left_out(monkeypatch, name, reach):
    monkeypatch.setattr(sections, "MOST_PATHS", 1_500)
    assert f"Noise larger than {reach} was left out" in how_it_was_found(section_of(name))
