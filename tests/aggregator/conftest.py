from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.aggregator.service import Service, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service with the three metrics of `service.REGISTRY`."""
    with serving(tmp_path / "store.db") as running:
        assert running.register().status_code == 200
        yield running
