"""A program frozen by PyInstaller: its user reads what was said, its author audits and tries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.repetitions import SMALL

pytestmark = pytest.mark.slow

ONE_AFTER_ANOTHER_SECONDS = 300

REGISTRY = """
registry = 1
application = "packed"
budget = { epsilon_per_day = 16.0, epsilon_lifetime = 400.0 }
metrics.late = { type = "boolean", epsilon = 1.0 }
metrics.carrier = { type = "category", values = ["AA", "DL"], complete = true, epsilon = 1.0 }
metrics.word = { type = "string", epsilon = 2.0 }
metrics.emoji = { type = "string", discover = true, epsilon = 2.0 }
metrics.delay = { type = "number", range = [0, 60], epsilon = 1.0 }
metrics.taxi = { type = "distribution", range = [0, 60], epsilon = 1.0 }

[metrics.flight]
type = "attributes"
epsilon = 2.0
[metrics.flight.attributes]
gate = "boolean"
carrier = { values = ["AA", "DL"], other = "another" }
[metrics.late_kept]
type = "boolean"
epsilon = 0.5
repeat = "memoize"
epsilon_permanent = 1.0
[metrics.word_kept]
type = "string"
epsilon = 0.5
repeat = "memoize"
epsilon_permanent = 1.0
[metrics.delay_kept]
type = "number"
range = [0, 60]
epsilon = 0.5
repeat = "memoize"
epsilon_permanent = 1.0
[metrics.taxi_kept]
type = "distribution"
range = [0, 60]
epsilon = 0.5
repeat = "memoize"
epsilon_permanent = 1.0
"""
PROGRAM = """
import sys
import tempfile
from pathlib import Path

import deniable

WORDS = {"word": "x", "emoji": "x", "carrier": "AA", "flight": {"carrier": "AA", "gate": True}}


def record():
    registry = Path(__file__).with_name("metrics.toml")
    with deniable.Client(
        registry, endpoint="http://127.0.0.1:9", key="k", directory=tempfile.mkdtemp() + "/state",
        consent=True, background=False,
    ) as client:
        for metric in deniable.load_registry(registry).metrics:
            kind = metric.removesuffix("_kept")
            value = WORDS.get(kind, kind == "late" or 3.0)
            assert client.record(metric, value) == "recorded", (metric, client.status())
        print(*sorted(report.metric for report in client.disclosure().reports))


if sys.argv[1] == "record":
    record()
else:
    from deniable_shared.commands.entry import main

    main(sys.argv[1:])
"""


@pytest.fixture(scope="module", params=["--onedir"] if SMALL else ["--onedir", "--onefile"])
def packed(request, tmp_path_factory):
    """Runs the program with arguments, and returns what it prints."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "metrics.toml").write_text(REGISTRY)
    (folder / "packed.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "PyInstaller", "--log-level", "ERROR", request.param]
    command += ["--add-data", "metrics.toml:.", "packed.py"]
    freeze = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        timeout=ONE_AFTER_ANOTHER_SECONDS,
    )  # fmt: skip
    assert freeze.returncode == 0, freeze.stderr
    made = folder / "dist" / "packed"
    program = made / "packed" if made.is_dir() else made

    def run(*arguments, status=0):
        done = subprocess.run(
            [program, *arguments], cwd=folder, capture_output=True, text=True, check=False,
            env={"PATH": "", "HOME": str(folder)}, timeout=ONE_AFTER_ANOTHER_SECONDS,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return " ".join((done.stdout + done.stderr).split())

    return run


METRICS = (
    "carrier", "delay", "delay_kept", "emoji", "flight", "late", "late_kept", "taxi", "taxi_kept",
    "word", "word_kept",
)  # fmt: skip


def test_a_frozen_program_tells_its_user_what_it_said_of_each_type(packed):
    assert packed("record") == " ".join(METRICS)


def test_a_frozen_program_tries_each_type(packed):
    assert f"{len(METRICS)} metrics recorded." in packed("try", "metrics.toml")


def test_a_frozen_program_audits_the_code_inside_it(packed):
    said = packed("audit", "metrics.toml")
    assert [name for name in METRICS if f"{name}: passed" not in said] == []
    assert "Audited: the code inside this program" in said


def test_a_frozen_program_has_no_files_that_a_certificate_could_name(packed):
    said = packed("audit", "metrics.toml", "--certificate", "certificate.json", status=1)
    assert said.startswith("Error: --certificate must be left out in a packed program")


@pytest.mark.parametrize("command", ["check", "plan", "typed"])
def test_a_frozen_program_has_the_commands_of_the_light_install(packed, command):
    packed(command, "metrics.toml")
