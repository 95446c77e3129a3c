"""Errors cross from a worker process to the one that waits for it."""

from __future__ import annotations

import pickle

import pytest

from deniable_shared.errors import ParameterError, RecordError, RegistryError

ERRORS = [
    ParameterError("epsilon", "greater than 0", -1.0),
    RecordError("closed", "the client was closed"),
    RegistryError(["one problem", "another,\nin two lines"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling(error):
    """A pool of processes waits for ever for a result that it cannot read."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
