"""A device keeps nothing from one report to the next but its kept choices, each for a value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count

import pytest

from deniable._audit import AuditFailure, audit_metric, sections
from deniable._audit.laws.memory import check_memory
from deniable.randomizers.oracles import grr
from deniable.randomizers.oracles.grr import GeneralizedRandomizedResponseRandomizer
from deniable.randomizers.permanent import PermanentChoices
from tests.client.audit.registries import SMALL, declared_of, registry_of
from tests.vectors.make import SPECS

ALL = {**SMALL, "trie": SPECS["trie"][0]}
GRR = GeneralizedRandomizedResponseRandomizer
MEMOISED = [name for name, spec in SMALL.items() if spec.mechanism.epsilon_permanent is not None]


@pytest.mark.parametrize("name", ALL)
def test_no_report_changes_what_its_randomizer_holds(name):
    check_memory(ALL[name])


def in_the_object(device):
    device._reports_made = vars(device).get("_reports_made", 0) + 1


def in_the_class(device):
    type(device)._reported = device._own


def in_a_list(device):
    device.reports.append(None)


def in_the_module(_device):
    grr.REPORTED.append(None)


def in_an_iterator(device):
    next(device.numbers)


@pytest.mark.parametrize("name", ["grr", "smp"])
@pytest.mark.parametrize(
    "remember", [in_the_object, in_the_class, in_a_list, in_the_module, in_an_iterator]
)
def test_whatever_a_randomizer_remembers_is_found_also_inside_another(monkeypatch, name, remember):
    report, begin = GRR.report, GRR.__init__

    def with_a_list(device, *arguments):
        begin(device, *arguments)
        device.reports = []

    def remembering(device, item, secret):
        remember(device)
        return report(device, item, secret)

    monkeypatch.setattr(GRR, "__init__", with_a_list)
    monkeypatch.setattr(GRR, "numbers", count(), raising=False)
    monkeypatch.setattr(GRR, "_reported", None, raising=False)
    monkeypatch.setattr(grr, "REPORTED", [], raising=False)
    check_memory(SMALL[name])
    monkeypatch.setattr(GRR, "report", remembering)
    with pytest.raises(AuditFailure, match="so that later reports can depend on it"):
        check_memory(SMALL[name])


def test_what_is_changed_by_rare_draws_only_is_found_too(monkeypatch):
    """At an epsilon of 8 a lie comes once in 1,500 reports."""
    kind = type(SMALL["grr"].mechanism)
    rare = replace(SMALL["grr"], mechanism=kind.for_epsilon(3, Fraction(8)))
    monkeypatch.setattr(GRR, "lied", False, raising=False)
    report = GRR.report

    def remembering(device, item, secret):
        made = report(device, item, secret)
        device.lied |= made[0] != item
        return made

    monkeypatch.setattr(GRR, "report", remembering)
    with pytest.raises(AuditFailure, match="lied"):
        check_memory(rare)


def all_values(purpose):
    return purpose.partition(b"\x00")[0]


def every_second_value(purpose):
    return purpose[:-1] + bytes([purpose[-1] & 254])


@pytest.mark.parametrize("shared_by", [all_values, every_second_value])
@pytest.mark.parametrize("name", MEMOISED)
def test_two_values_that_share_kept_noise_are_refused(monkeypatch, name, shared_by):
    """One report of each alone has the right law."""
    stream = PermanentChoices.stream
    monkeypatch.setattr(sections, "MOST_PATHS", 1_500)
    monkeypatch.setattr(
        PermanentChoices,
        "stream",
        lambda kept, secret, purpose, length: stream(kept, secret, shared_by(purpose), length),
    )
    (metric,) = registry_of(SMALL[name]).metrics.values()
    with pytest.raises(AuditFailure, match="two values share kept noise"):
        audit_metric(metric, declared_of(metric.spec))
