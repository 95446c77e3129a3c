"""No randomizer asks which of many values it has, or reads anything but its value."""

from __future__ import annotations

import os
import time

import pytest

from deniable._audit import AuditFailure
from deniable._audit.laws import surroundings
from deniable._audit.laws.surroundings import check_surroundings
from deniable.randomizers import numbers
from deniable.randomizers.oracles import rr
from deniable.randomizers.oracles.rr import RandomizedResponseRandomizer
from deniable.randomizers.sketch import SketchRandomizer
from deniable_shared.registry import parse
from tests.client.audit.registries import SMALL
from tests.vectors.make import SPECS

ALL = {**SMALL, "trie": SPECS["trie"][0]}
HEAD = (
    'registry = 1\napplication = "tests"\nbudget = { epsilon_per_day = 4, epsilon_lifetime = 9 }\n'
)
FLAG = 'type = "boolean"\nepsilon = 1.0'
TEXT = 'type = "string"\nepsilon = 2.0'
NUMBER = 'type = "number"\nrange = [0, 30]\nepsilon = 1.0\nmechanism = "laplace"'


def spec_of(lines):
    return parse(f"{HEAD}[metrics.m]\n{lines}\n").metrics["m"].spec


@pytest.fixture(autouse=True)
def _afresh():
    surroundings._foreign.cache_clear()
    yield
    surroundings._foreign.cache_clear()


@pytest.mark.parametrize("name", ALL)
def test_the_shipped_randomizers_depend_on_their_value_alone(name):
    check_surroundings(ALL[name])


def in_the_function(_self, item, _secret):
    import datetime

    return b"\x01" if datetime.datetime.now(datetime.UTC).second else bytes([item])


@pytest.mark.parametrize(("name", "value"), [("clock", time), ("now", time.time), ("env", os)])
def test_a_module_that_reads_the_system_is_named(monkeypatch, name, value):
    monkeypatch.setattr(rr, name, value, raising=False)
    with pytest.raises(AuditFailure, match=r"oracles\.rr uses (time|os)"):
        check_surroundings(spec_of(FLAG))


def test_so_is_one_that_only_a_function_imports(monkeypatch):
    monkeypatch.setattr(RandomizedResponseRandomizer, "report", in_the_function)
    with pytest.raises(AuditFailure, match=r"oracles\.rr uses datetime"):
        check_surroundings(spec_of(FLAG))


@pytest.mark.parametrize(
    "ask",
    [
        lambda item: item == b"somebody",
        lambda item: b"@" in item,
        lambda item: item[:1] == b"a",
        lambda item: len(item) > 9_000,
        lambda item: item.startswith(b"http"),
    ],
)
def test_to_ask_which_string_it_is_is_refused(monkeypatch, ask):
    report = SketchRandomizer.report

    def asking(self, item, secret):
        return report(self, b"" if ask(item) else item, secret)

    monkeypatch.setattr(SketchRandomizer, "report", asking)
    with pytest.raises(AuditFailure, match="asks which string"):
        check_surroundings(spec_of(TEXT))


@pytest.mark.parametrize(
    "ask", [lambda item: item == 31_337, lambda item: item > 1 << 19, lambda item: not item]
)
def test_to_ask_which_number_it_is_is_refused(monkeypatch, ask):
    report = numbers.LaplaceRandomizer.report

    def asking(self, item, secret):
        return report(self, 0 if ask(item) else item, secret)

    monkeypatch.setattr(numbers.LaplaceRandomizer, "report", asking)
    with pytest.raises(AuditFailure, match="asks which number"):
        check_surroundings(spec_of(NUMBER))
