"""Plants a fault into a copy of the shipped source, and runs checks against that copy.

A fault is a change of one place in one file, as somebody could make it in a commit. The copy of
both packages that are installed on devices stands before everything else on the path of a child
process, which runs the audit and the tests that are to notice the fault. This process imports
neither package, so every child begins with none of their modules.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.audits import TRUSTED

ROOT = Path(__file__).parents[3]
SHIPPED = {"deniable": ROOT / "client", "deniable_shared": ROOT / "shared"}
"""The packages of a device, and the folders that they are in."""

REGISTRY = Path(__file__).with_name("metrics.toml")

LOADED_BEFORE = ("numpy", "scipy.stats", "hypothesis", "msgpack", "mmh3")
"""Imported once, as every child would need them."""


class Fault(NamedTuple):
    """A change of the shipped source that would harm somebody's privacy.

    Attributes:
        title: what is wrong, in a few words.
        file: where, from the folder in which the packages stand.
        before: the text that is replaced, which stands there once.
        after: what replaces it.
        tests: those that must fail: a file below tests/ and the name of a test in it.
        metric: the metric of metrics.toml whose audit must fail; empty if it is not audited, as
            the fault is not in what the audit looks at.
    """

    title: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    metric: str = ""


class Findings(NamedTuple):
    """What noticed a fault.

    Attributes:
        audit: what the audit said of it; empty if it found nothing.
        failed: the line at which each test failed that did.
        passed: the tests that did not fail.
        changed: the files of which `deniable verify` would say that they differ.
    """

    audit: str
    failed: dict[str, str]
    passed: list[str]
    changed: list[str]


def findings(fault: Fault | None, metrics: tuple[str, ...], tests: tuple[str, ...]) -> Findings:
    """Runs the audit and tests on a copy of the source, in a process of its own.

    Args:
        fault: what is changed in the copy; None for nothing.
        metrics: which metrics of metrics.toml are audited.
        tests: which tests run, as `Fault.tests` names them.

    Raises:
        ValueError: if the text to replace does not stand in its file exactly once.
        RuntimeError: if the process ended without an answer.
    """
    for name in LOADED_BEFORE:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for package, place in SHIPPED.items():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(place / package, copy / package, ignore=ignored)
        if fault is not None:
            changed = copy / fault.file
            text = changed.read_text(encoding="utf-8")
            if text.count(fault.before) != 1:
                raise ValueError(f"{fault.title}: {fault.before!r} stands not once in {fault.file}")
            changed.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
        answer = copy / "answer.json"
        child = os.fork()
        if not child:
            _answer(copy, metrics, tests, answer)
        os.waitpid(child, 0)
        if not answer.exists():
            raise RuntimeError((copy / "output").read_text(encoding="utf-8"))
        return Findings(*json.loads(answer.read_text(encoding="utf-8")))


def _answer(copy: Path, metrics: tuple[str, ...], tests: tuple[str, ...], answer: Path) -> None:
    """What the child does; it never returns."""
    try:
        with (copy / "output").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        assert not any(package in sys.modules for package in SHIPPED)
        sys.path.insert(0, str(copy))
        others = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = os.pathsep.join((str(copy), others))  # for programs of tests
        found = _audit(metrics), *_run(copy, tests), _changed()
        answer.write_text(json.dumps(found), encoding="utf-8")
    except BaseException:  # noqa: BLE001  nobody else would print it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _audit(metrics: tuple[str, ...]) -> str:
    """What `deniable audit` says of the copy; empty if it finds nothing, or nothing is audited."""
    if not metrics:
        return ""
    from deniable._audit.audit import audit_metric, certificate_of
    from deniable._audit.declared import declared_in
    from deniable._audit.failure import AuditFailure
    from deniable_shared import registry

    known = registry.load(REGISTRY)
    declared = declared_in(REGISTRY.read_text(encoding="utf-8"))
    try:
        audited = [audit_metric(known.metrics[metric], declared.get(metric)) for metric in metrics]
        certificate_of(known, audited)
    except AuditFailure as failure:
        return str(failure)
    return ""


class _Notes:
    """Notes which tests failed, and where; one fails if it does with any of its parameters."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self.passed: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each phase of a test."""
        name = report.nodeid.removeprefix("tests/").partition("[")[0]
        if report.failed:
            shown = str(report.longrepr).splitlines()
            lines = [line[1:].strip() for line in shown if line.startswith(">")]
            self.failed.setdefault(name, lines[-1] if lines else shown[-1])
        elif report.when == "call":
            self.passed.setdefault(name)


def _run(copy: Path, tests: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """The tests that failed, with the line of each, and those that did not."""
    notes = _Notes()
    if tests:
        # None of the installed plugins is needed, and to load them takes time.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.environ.pop(TRUSTED, None)  # no test has passed with this source
        os.chdir(ROOT)
        options = ["-q", "-p", "no:cacheprovider", f"--basetemp={copy / 'tests'}"]
        pytest.main([*options, *(f"tests/{test}" for test in tests)], plugins=[notes])
    return notes.failed, [name for name in notes.passed if name not in notes.failed]


def _changed() -> list[str]:
    """The files of the copy that `deniable verify` finds to differ from the source."""
    from deniable_shared.commands.verify.comparison import compare
    from deniable_shared.installed import installed_files

    expected = {
        path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for package, place in SHIPPED.items()
        for path in sorted((place / package).rglob("*"))
        if path.is_file() and path.parent.name != "__pycache__"
    }
    found = compare(expected, installed_files().files)
    assert not found.missing
    assert not found.added
    return list(found.changed)
