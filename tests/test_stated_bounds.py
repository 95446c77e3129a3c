"""Sentences that state a privacy bound: all are in one table, each with the test that proves it."""

from __future__ import annotations

import ast
import math
import random
import re
from functools import lru_cache

import pytest

from deniable_shared.accounting import history_bounds
from deniable_shared.registry import parse
from deniable_shared.review import review
from tests.test_documents import DOCUMENTS, ROOT, names_of_tests, text_of

__all__ = ["names_of_tests"]

TABLE = ROOT / "docs" / "appendix" / "bounds.md"
ROW = re.compile(r"^\| (?!sentence|---)(.+?) \| (\S+) \| `(test_\w+)` \|$", re.M)
SUBJECT = re.compile(r"epsilon|\bbudget|\bodds\b|\bnats\b|\bsure\b|[0-9}*] bits\b", re.I)
CLAIM = re.compile(
    r"at most|(never|no) more than|upper bound|\bbound(s|ed)?\b|any two histories", re.I
)
HARMLESS = re.compile(
    r"of about \{\} characters|upper_bound|within the bound|Followed over all words|at most 1 for "
    r"anything|at most 2\.3%|text to discover at most|at most two thirds|pgr alone, exact|"
    r"which `bounds` sees",
    re.I,
)
"""Says "at most" of something else, or what an option or a recommendation is."""


def rows():
    return [
        (sentence.replace("\\|", "|"), ROOT / where, test)
        for sentence, where, test in ROW.findall(TABLE.read_text("utf-8"))
    ]


@lru_cache
def said(path):
    """What a file says: a document's prose, or the strings of a program but its docstrings."""
    if path.suffix == ".md":
        prose = re.sub(r"(?ms)^```.*?^```$", "", path.read_text("utf-8"))
        return [
            " ".join(each.split()) for each in re.split(r"(?<=[.:;])\s+(?=[^a-z])|\n\n|\n\|", prose)
        ]
    tree = ast.parse(path.read_text("utf-8"))
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    return [
        " ".join(text.split())
        for node in ast.walk(tree)
        if (id(node) not in inside or isinstance(node, ast.JoinedStr)) and (text := _text(node))
    ]


def _text(node):
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        return "".join(map(str, parts))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def docstrings(path):
    """The docstrings of a program that are not help of a command."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                yield " ".join(text.split())
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield " ".join(str(node.value.value).split())


def programs():
    folders = ("shared", "client", "aggregator", "analysis")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize(("sentence", "path", "test"), rows())
def test_each_sentence_is_said_and_each_test_exists(sentence, path, test, names_of_tests):
    words = " ".join(sentence.split())
    text = " ".join(path.read_text("utf-8").split()) if path.suffix == ".md" else ""
    assert words in text or any(words in each for each in said(path))
    assert test in names_of_tests


@pytest.mark.parametrize(
    "path", [*DOCUMENTS, *programs()], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_other_sentence_states_a_bound(path):
    if path == TABLE or path.name in {"CHANGELOG.md", "planted-faults.md", "figures.md"}:
        return
    listed = [" ".join(sentence.split()) for sentence, where, _ in rows() if where == path]
    known = set() if path.suffix == ".md" else set(docstrings(path))
    for each in said(path):
        if each in known or len(each) < 30 or not (SUBJECT.search(each) and CLAIM.search(each)):
            continue
        if not HARMLESS.search(each):
            assert any(sentence in each for sentence in listed), each


def test_a_flag_that_changes_once_costs_what_the_document_says():
    text = text_of(ROOT / "docs" / "reviewer" / "account.md")
    (stated,) = re.findall(
        r"a daily flag at \(1, 2\) costs at most ([0-9.]+) in a year", " ".join(text.split())
    )
    registry = parse(
        'registry = 1\napplication = "tests"\n'
        "[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 40\n"
        '[metrics.flag]\ntype = "boolean"\nepsilon = 1\nrepeat = "memoize"\nepsilon_permanent = 2\n'
    )
    bounds = history_bounds(registry.metrics["flag"].spec.mechanism, 365)
    assert bounds.once <= float(stated) < bounds.once + 0.1


@pytest.mark.parametrize("seed", range(6))
def test_a_day_of_reports_tells_no_more_bits_than_its_budget(seed):
    """Of a registry whose metrics report daily, by the mutual information of each report."""
    draw = random.Random(seed)
    metrics, left = "", 4.0
    while (epsilon := draw.choice([0.5, 1.0, 1.5])) <= left:
        kind = draw.choice(
            [
                'type = "boolean"',
                'type = "string"',
                'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true',
                'type = "number"\nrange = [0, 9]',
            ]
        )
        metrics += f"[metrics.m{len(metrics)}]\n{kind}\nepsilon = {epsilon}\n"
        left -= epsilon
    registry = parse(
        'registry = 1\napplication = "tests"\n[budget]\nepsilon_per_day = 4.0\n'
        f"epsilon_lifetime = 400\n{metrics}"
    )
    bits = review(registry).together
    text = " ".join(text_of(ROOT / "docs" / "threat-model.md").split())
    (stated,) = re.findall(r"`epsilon_per_day = 4.0` at most \*\*B = ([0-9.]+) bits", text)
    assert bits.one_report_each <= bits.one_report_each_most <= float(stated)
    assert 4 / math.log(2) <= float(stated) < 4 / math.log(2) + 0.1
