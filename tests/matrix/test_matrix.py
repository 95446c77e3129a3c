"""The lowest versions that pyproject.toml declares work, and those of this environment read theirs.

``make test PART=matrix`` does the same with many more: see `tests.matrix.__main__`.
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.matrix import environments
from tests.matrix.environments import ROOT, UV, Environment, pythons, succeed
from tests.repetitions import SMALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not UV.exists(), reason="uv is not installed, which chooses versions"),
]


def deploy(interpreter, act, folder):
    own = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
    command = (interpreter, "-m", "tests.matrix.deployment", act, folder)
    succeed(*command, env=os.environ | own, cwd=folder.parent)


def test_lowest_versions_work_and_the_installed_ones_read_what_they_wrote(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "FOLDER", tmp_path / "environments")
    lowest = Environment("lowest", next(iter(pythons().values())), "lowest-direct")
    lowest.make()
    deploy(lowest.interpreter, "write", tmp_path / "lowest")
    deploy(sys.executable, "read", tmp_path / "lowest")
    if not SMALL:
        deploy(sys.executable, "write", tmp_path / "installed")
        deploy(lowest.interpreter, "read", tmp_path / "installed")
