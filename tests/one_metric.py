"""Registries of one metric, ``m``, from the lines of its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deniable_shared import registry
from deniable_shared.errors import RegistryError

if TYPE_CHECKING:
    from deniable_shared.spec import Spec

HEAD = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.m]
"""
MEMOIZED = 'repeat = "memoize"\n'


def spec_of(fields: str) -> Spec:
    """The metric, resolved."""
    return registry.parse(HEAD + fields).metrics["m"].spec


def problem_of(fields: str) -> str:
    """The only thing that is wrong with it."""
    with pytest.raises(RegistryError) as caught:
        registry.parse(HEAD + fields)
    (line,) = caught.value.problems
    return line.removeprefix("metrics.toml: metrics.m.")
