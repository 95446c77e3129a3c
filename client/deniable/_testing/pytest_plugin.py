"""The pytest plugin: the fixture ``deniable_recorder``.

pytest imports this module whenever Deniable is installed, even if no test uses the fixture. So it
imports nothing that pytest has not imported already.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable._testing.recording_client import RecordingClient

_NAME: Final = "deniable_registry"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the option that names the registry."""
    parser.addini(_NAME, "metrics.toml of deniable_recorder, relative to the root directory")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker that names another registry."""
    config.addinivalue_line(
        "markers", f"{_NAME}(path): metrics.toml of deniable_recorder in this test"
    )


@pytest.fixture
def deniable_recorder(request: pytest.FixtureRequest) -> Iterator[RecordingClient]:
    """A `deniable.testing.RecordingClient`, new for each test.

    Its registry is the file of the marker ``deniable_registry(path)``, or else of the setting
    ``deniable_registry``; both are relative to pytest's root directory.
    """
    marker = request.node.get_closest_marker(_NAME)
    given = (*marker.args, *marker.kwargs.values()) if marker else ()
    path = given[0] if given else request.config.getini(_NAME)
    if not path:
        raise pytest.UsageError(
            f"deniable_recorder needs a registry: set {_NAME} = metrics.toml in pytest's settings, "
            f'or mark the test with @pytest.mark.{_NAME}("metrics.toml")'
        )
    from deniable._testing.recording_client import RecordingClient

    with RecordingClient(request.config.rootpath / Path(path)) as recorder:
        yield recorder
