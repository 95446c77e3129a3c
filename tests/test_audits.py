"""Costly audits run unless they have passed with the very same sources."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import contextmanager

import pytest

from tests import audits
from tests.installed import run

pytestmark = pytest.mark.service

AUDIT = "tests/small/test_small.py"
TEXT = """
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

@pytest.mark.audit("docs")
def test_epsilon():
    from deniable_shared.mechanisms import RandomizedResponse
    assert RandomizedResponse.for_epsilon(2, Fraction(1)).epsilon <= 1
    assert (ROOT / "demo/metrics.toml").read_text()

def test_what_is_no_audit():
    pass
"""
TESTED = ("conftest.py", "audits.py", "in_memory.py")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with one small audit, which has passed and is recorded."""
    root = tmp_path_factory.mktemp("project")
    for folder in ("client", "shared"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(audits.ROOT / folder, root / folder, ignore=left_out)
    shutil.copy(audits.ROOT / "pyproject.toml", root)
    files = {
        "demo/metrics.toml": "one",
        "demo/README.md": "two",
        "docs/reviewer/check-certificate.mjs": "three",
    }
    files |= {f"tests/{name}": (audits.ROOT / "tests" / name).read_text("utf-8") for name in TESTED}
    for name, text in {**files, AUDIT: TEXT}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    done = python(root, "-m", "tests.audits")
    assert done.stdout == f"{AUDIT}: passed\n", done.stderr
    return root


def python(root, *words, **environment):
    """What Python says that runs in a project, and has its packages from there."""
    inherited = ("PYTEST", audits.TRUSTED)
    known = {
        name: value
        for name, value in os.environ.items()
        if not any(word in name for word in inherited)
    }
    path = os.pathsep.join(str(root / folder) for folder in ("client", "shared", "."))
    known = {**known, "PYTHONPATH": path, **environment}
    return run(sys.executable, *words, cwd=root, env=known)


def passed(root):
    return audits.passed(AUDIT, root, root / "tests/audits.json")


@contextmanager
def changed(path, before="", after="\n"):
    """A file with another text for the length of a block."""
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1) if before else text + after, "utf-8")
    yield
    path.write_text(text, "utf-8")


def test_an_audit_runs_again_if_a_fault_is_planted_in_what_it_imports(
    project,
):
    def outcome(**environment):
        return python(project, "-m", "pytest", "-q", AUDIT, **environment).stdout

    assert "1 passed, 1 skipped" in outcome(DENIABLE_TRUST_AUDITS="1")
    assert "2 passed" in outcome()
    randomized_response = project / "shared/deniable_shared/mechanisms/oracles/rr.py"
    with changed(randomized_response, "exp_lower(epsilon)", "exp_lower(2 * epsilon)"):
        assert "1 failed, 1 passed" in outcome(DENIABLE_TRUST_AUDITS="1")
        assert python(project, "-m", "tests.audits").returncode
        assert not passed(project)
    assert python(project, "-m", "tests.audits").returncode == 0
    assert passed(project)


@pytest.mark.parametrize(
    "file",
    [
        "client/deniable/__init__.py",
        "demo/metrics.toml",
        "docs/reviewer/check-certificate.mjs",
        "pyproject.toml",
        "shared/deniable_shared/mechanisms/base.py",
        "tests/audits.py",
        "tests/conftest.py",
        AUDIT,
    ],
)
def test_any_change_of_what_it_read_counts(project, file):
    assert passed(project)
    with changed(project / file):
        assert not passed(project)


def test_a_module_that_is_new_or_gone_counts(project):
    new = project / "shared/deniable_shared/mechanisms/new.py"
    new.touch()
    assert not passed(project)
    new.unlink()
    old = project / "shared/deniable_shared/exact_bounds.py"
    text = old.read_text("utf-8")
    old.unlink()
    assert not passed(project)
    old.write_text(text, "utf-8")
    assert passed(project)


def test_another_python_and_another_library_count(project, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(audits.platform, "python_version", lambda: "3.99.0")
        assert not passed(project)
    monkeypatch.setattr(audits, "version", lambda name: f"99 of {name}")
    assert not passed(project)


def test_what_it_did_not_read_does_not_count(project):
    with changed(project / "demo/README.md"), changed(project / "client/deniable/_upload/pace.py"):
        assert passed(project)


def test_without_a_record_nothing_has_passed(project):
    assert not audits.passed("tests/other.py", project, project / "tests/audits.json")
    assert not audits.passed(AUDIT, project, project / "no-such-record.json")


def test_what_is_recorded_are_audits_with_what_they_calculate():
    for module, entry in json.loads(audits.RECORD.read_text("utf-8")).items():
        assert (audits.ROOT / module).exists()
        assert module in entry["paths"]
        assert "shared/deniable_shared/mechanisms/" in entry["paths"]
