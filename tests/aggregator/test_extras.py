"""Packages of extras, and slow ones, are imported when they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deniable_aggregator.answers import extras
from deniable_aggregator.answers.extras import MissingExtraError, require


def test_a_missing_package_is_answered_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda package: package != "distributed" or None)
    with pytest.raises(
        MissingExtraError, match=r"needs distributed: pip install 'deniable\[dask\]'"
    ):
        require("dask", "dask", "distributed")


@pytest.mark.service
def test_the_aggregator_starts_without_them_and_without_what_takes_as_long_as_all_else():
    late = {"pyarrow", "fsspec", "dask", "scipy.stats", "scipy.optimize"}
    code = f"import sys, deniable_aggregator.doors.app; print({late} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
