"""The audit compares what it finds with the numbers of the file, which it reads by itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable._audit import AuditFailure, Declared, audit_metric, command, declared_in, sections
from deniable_shared.commands.entry import main
from deniable_shared.mechanisms import Hybrid, RandomizedResponse
from deniable_shared.registry import load, loading
from tests.client.audit.registries import SMALL, declared_of, registry_of
from tests.privacy.specs import number

pytestmark = pytest.mark.audit

TEXT = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.flag]
type = "boolean"
every = "week"
epsilon = 0.35
[metrics.parted]
type = "boolean"
segment = { name = "channel", values = ["beta"], other = "others" }
epsilon = 1
[metrics.kept]
type = "category"
values = ["a", "b", "c"]
complete = true
every = "day"
repeat = "memoize"
epsilon = 0.50
epsilon_permanent = 2.50
[metrics.noisy]
type = "number"
range = [0, 30]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-6
"""


@pytest.fixture(autouse=True)
def few_paths(monkeypatch):
    monkeypatch.setattr(sections, "MOST_PATHS", 3_000)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_numbers_are_those_of_the_text_digit_by_digit():
    assert declared_in(TEXT) == {
        "flag": Declared(Fraction(35, 100), every="week"),
        "parted": Declared(Fraction(1)),
        "kept": Declared(Fraction(1, 2), Fraction(5, 2)),
        "noisy": Declared(Fraction(1), delta=Fraction(1, 10**6)),
    }


@pytest.mark.parametrize("epsilon", ["nan", "inf", "true", '"1.0"', "[1.0]"])
def test_what_is_no_number_allows_nothing(epsilon):
    assert declared_in(TEXT.replace("0.35", epsilon)).keys() == {"parted", "kept", "noisy"}


def test_the_command_says_what_was_found_beside_what_the_file_allows(file, capsys):
    head, _, _ = TEXT.partition("[metrics.parted]")
    file.write_text(head, encoding="utf-8")
    target = file.with_name("certificate.json")
    assert run(file, "--certificate", target) == 0
    assert "epsilon 0.3499999993 found; the file allows 0.35\n" in capsys.readouterr().out
    (metric,) = json.loads(target.read_text("utf-8"))["metrics"]
    assert metric["declared"] == {"epsilon": "7/20", "every": "week"}


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(["audit", *map(str, words)])
    return ended.value.code


def test_permanent_epsilons_and_deltas_are_shown_beside_those_of_the_file():
    kept, noisy = (
        " ".join(" ".join(command._passed(audited(SMALL[name]), None)).split())
        for name in ("losue", "gaussian")
    )
    assert re.search(r"all reports epsilon 1\.99\d+ found; the file allows 1\.99\d+", kept)
    assert "epsilon 1 and delta 4.508455e-10 found; the file allows 1 and 4.508" in noisy


def misread(monkeypatch, **changes):
    """The reader of registries asks for something else than its file says."""
    resolve = loading.resolve

    def changed(kind, **asked):
        for name, change in changes.items():
            if asked[name] is not None:
                asked[name] = change(asked[name])
        return resolve(kind, **asked)

    monkeypatch.setattr(loading, "resolve", changed)


MISREAD = {
    "epsilon": (
        lambda epsilon: epsilon * 4,
        {
            "flag": "one report reveals 1.39999999",
            "parted": "one report reveals 3.99999999",
            "kept": "one report reveals 1.99999999",
        },
    ),
    "epsilon_permanent": (
        lambda permanent: permanent * 2,
        {"kept": "all reports of a value together reveal 4.99999996"},
    ),
}


@pytest.mark.parametrize("name", MISREAD)
def test_a_reader_that_gives_a_metric_more_than_its_file_is_noticed(name, file, monkeypatch):
    change, reasons = MISREAD[name]
    misread(monkeypatch, **{name: change})
    registry, declared = load(file), declared_in(TEXT)
    for metric, reason in reasons.items():
        with pytest.raises(AuditFailure) as failed:
            audit_metric(registry.metrics[metric], declared[metric])
        assert failed.value.reason.startswith(reason)
        assert "the file allows" in failed.value.reason


def test_no_certificate_is_written_of_a_file_that_was_misread(file, capsys, monkeypatch):
    head, _, _ = TEXT.partition("[metrics.parted]")
    file.write_text(head, encoding="utf-8")
    misread(monkeypatch, epsilon=lambda epsilon: epsilon * 4)
    target = file.with_name("certificate.json")
    assert run(file, "--certificate", target) == 1
    assert "FAILED" in capsys.readouterr().out
    assert not target.exists()


def audited(spec, **changes):
    (metric,) = registry_of(spec).metrics.values()
    return audit_metric(metric, declared_of(metric.spec)._replace(**changes))


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("grr", {"epsilon": Fraction(99, 100)}, "nats, and the file allows 0.99"),
        ("laplace", {"epsilon": Fraction(999_999, 10**6)}, "nats, and the file allows 0.999999"),
        ("gaussian", {"epsilon": 1 - Fraction(1, 10**9)}, "delta is that at an epsilon of 1.0"),
        ("gaussian", {"delta": Fraction(1, 10**12)}, "delta is .*, and the file allows 1e-12"),
        ("gaussian", {"delta": None}, "the file states none"),
        ("losue", {"epsilon_permanent": Fraction(1)}, "all reports .*, and the file allows 1.0"),
        ("losue", {"epsilon_permanent": None}, "the file states no epsilon_permanent"),
        ("grr", {"epsilon_permanent": Fraction(1)}, "no answer is kept"),
        ("grr", {"every": "month"}, "every = 'day', and the file 'month'"),
    ],
)
def test_a_metric_that_does_what_its_version_states_and_not_its_file_fails(name, changes, words):
    with pytest.raises(AuditFailure, match=words):
        audited(SMALL[name], **changes)


def test_a_metric_without_an_epsilon_in_the_file_fails():
    (metric,) = registry_of(SMALL["rr"]).metrics.values()
    with pytest.raises(AuditFailure, match="m0: the file states no epsilon for it"):
        audit_metric(metric, None)


def test_what_the_metric_states_must_be_allowed_even_where_less_is_found():
    """Of some mechanisms the values that are looked at need not be the worst."""
    spec = number(Hybrid.for_epsilon(Fraction(1, 100)))
    between = Fraction(9_999_999_330, 10**12)
    assert audited(spec).verdict.section.report.nats < between < spec.mechanism.epsilon
    with pytest.raises(AuditFailure, match=r"reveals 0\.0099999993735\d* nats, and the file"):
        audited(spec, epsilon=between)


def test_an_epsilon_that_is_no_double_is_kept_to():
    tenth = Fraction(1, 10)
    spec = replace(SMALL["rr"], mechanism=RandomizedResponse.for_epsilon(2, tenth))
    assert audited(spec, epsilon=tenth).declared.epsilon == tenth


def test_a_pick_of_which_the_file_says_something_else_is_refused(tmp_path):
    head, path = TEXT.partition("[metrics")[0], tmp_path / "metrics.toml"
    fields = '[metrics.m]\ntype = "category"\nvalues = ["a", "b"]\ncomplete = true\nepsilon = 1\n'
    path.write_text(head + fields + 'pick = "random"\n', encoding="utf-8")
    metric = load(path).metrics["m"]
    audit_metric(metric, declared_in(path.read_text("utf-8"))["m"])
    with pytest.raises(AuditFailure, match="it has pick = 'random', and the file 'first'"):
        audit_metric(metric, declared_in(head + fields)["m"])


ABSENT = """
[metrics.{}]
type = "{}"
absent = {}
{}epsilon = 1
"""
RANGE = 'range = [0, 10]\nmechanism = "duchi"\n'
LISTED = 'values = ["a", "b"]\n'


@pytest.mark.parametrize(
    ("kind", "fields", "absent", "other"),
    [
        ("boolean", "", "false", None),
        ("number", RANGE, "2.5", "2"),
        ("category", LISTED, '"cafe\u0301"', '"b"'),
        ("category", LISTED, '"none"', None),
    ],
)
def test_absence_of_which_the_file_says_something_else_is_refused(
    tmp_path, kind, fields, absent, other
):
    head = TEXT.partition("[metrics")[0]
    path = tmp_path / "metrics.toml"
    path.write_text(head + ABSENT.format("m", kind, absent, fields), encoding="utf-8")
    metric = load(path).metrics["m"]
    audit_metric(metric, declared_in(path.read_text("utf-8"))["m"])
    text = head + ABSENT.format("m", kind, other, fields)
    said = declared_in(text if other else text.replace("absent = None\n", ""))["m"]
    with pytest.raises(AuditFailure, match=r"it has absent = .*, and the file (2|b|nothing)$"):
        audit_metric(metric, said)
