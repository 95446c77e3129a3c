"""What an SDK costs before it is used: distributions installed, and milliseconds to import.

Importing is processor time, of which a busy machine takes little away.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

IMPORTS: Final = {
    "deniable": "from deniable import Client",
    "posthog": "from posthog import Posthog",
    "sentry-sdk": "import sentry_sdk",
    "opentelemetry-sdk": (
        "from opentelemetry import trace\n"
        "from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter\n"
        "from opentelemetry.sdk.resources import Resource\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import BatchSpanProcessor"
    ),
    "segment-analytics-python": "import segment.analytics as analytics",
    "glean-sdk": "from glean import Configuration, Glean, load_metrics",
}
"""The imports of each guide, by the name of the distribution."""

_TOOLS: Final = ("pip", "setuptools", "wheel")
_LIST: Final = """
import importlib.metadata, json
print(json.dumps({d.name.lower(): d.version for d in importlib.metadata.distributions()}))
"""


@dataclass(frozen=True)
class Environment:
    """One SDK's own environment.

    Attributes:
        python: its interpreter.
        version: of the SDK.
        distributions: all that came with it, the SDK included and pip's own not.
    """

    python: Path
    version: str
    distributions: tuple[str, ...]


def environment(sdk: str, folder: Path) -> Environment | None:
    """The environment of an SDK, or None if it could not be installed."""
    python = folder / sdk / "bin" / "python"
    if not python.exists():
        return None
    listed = subprocess.run([str(python), "-I", "-c", _LIST], capture_output=True, check=True)
    installed: dict[str, str] = json.loads(listed.stdout)
    if sdk not in installed:
        return None
    names = tuple(sorted(name for name in installed if name not in _TOOLS))
    return Environment(python, installed[sdk], names)


def import_milliseconds(python: Path, code: str, rounds: int) -> float:
    """What an import adds to starting Python: the difference of two medians.

    Args:
        python: an interpreter that has it.
        code: the import.
        rounds: fresh processes of either kind, in turn.
    """
    plain, importing = [], []
    for _ in range(rounds):
        plain.append(_start_seconds(python, "pass"))
        importing.append(_start_seconds(python, code))
    return (statistics.median(importing) - statistics.median(plain)) * 1e3


def _start_seconds(python: Path, code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(python), "-I", "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
