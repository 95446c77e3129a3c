"""What installed programs and tests get: types that hold, and a fixture."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.installed import Environment, run, succeed

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[1] / "examples"

REGISTRY = """
registry = 1
application = "typed"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
"""

METRICS = r"""
registry = 1
application = "typed"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.theme]
type = "category"
description = "\"\"\" The user's \\N{DASH} colours \\"
values = ["light", "dark"]
complete = true
epsilon = 1.0
segment = { name = "channel", values = ["stable", "beta"], other = "unknown" }
[metrics.late]
type = "boolean"
epsilon = 1.0
segment = { name = "class", values = ["first", "it's \"\\"], complete = true }
[metrics.export]
type = "category"
values = ["csv", "None", "\"\"\"", "\\", "'", "é"]
other = "x"
epsilon = 1.0
[metrics.delay]
type = "number"
range = [0, 60]
epsilon = 1.0
[metrics.emoji]
type = "string"
epsilon = 1.0
[metrics.client]
type = "attributes"
epsilon = 1.0
[metrics.client.attributes]
class = "boolean"
from = { values = ["AA", "D'L"], other = "another" }
in = { values = ["a", "b"], complete = true }
"""

TYPED_PROGRAM = r"""
from decimal import Decimal
from typing import assert_type

import deniable
from one_metric import Client as ClientOfOneMetric
from typed_metrics import Client, ClientValue, ThemeSegment, ThemeValue


def use(client: Client, theme: ThemeValue, channel: ThemeSegment, text: str) -> None:
    with client as same:
        assert_type(same, Client)
        assert_type(same.record("theme", theme, segment=channel), deniable.Outcome)
        same.record("theme", "dark", segment=text)
        same.record("late", True, segment="it's \"\\")
        same.record("export", "csv")
        same.record("export", text)
        same.record("delay", 3)
        same.record("delay", Decimal("2.5"))
        with same.timer("delay"):
            pass
        same.record("emoji", text)
        given: ClientValue = {"class": True, "in": "a"}
        same.record("client", given)
        same.record("client", {"class": True, "in": "a", "from": text})
        same.consent = same.flush().sent > 0


def start(home: str) -> None:
    use(Client("metrics.toml", directory=home, consent=True), "dark", "beta", "text")
    plain: deniable.Client = ClientOfOneMetric("metrics.toml", directory=home)
    plain.close()
"""

TYPED_WRONG = r"""
from one_metric import Client as ClientOfOneMetric
from typed_metrics import Client


def use(client: Client, single: ClientOfOneMetric, text: str) -> None:
    client.record("tehme", "dark")
    client.record("theme", "drak")
    client.record("theme", text)
    client.record(text, True)
    client.record("late", True)
    client.record("late", "yes", segment="first")
    client.record("late", True, segment="second")
    client.record("export", 1)
    client.record("delay", "1")
    client.record("delay", 1, segment="beta")
    client.record("emoji", 1)
    client.timer("theme")
    single.timer("theme")
    client.record("client", {"class": True})
    client.record("client", {"class": 1, "in": "a"})
    client.record("client", {"class": True, "in": "c"})
    client.record("client", {"class": True, "in": "a", "on": True})
    single.record("tehme", "dark")
    single.record("theme", "drak")
"""

PROGRAM = """
from __future__ import annotations

from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import assert_type

import deniable
from deniable.testing import InMemoryTransport, Recorded, RecordingClient, capture
from deniable_shared.registry import Registry, load
from deniable_shared.wire import Part


class Courier:
    def send(self, body: bytes, timeout_seconds: float) -> deniable.Response:
        return deniable.Response(status=204 if body and timeout_seconds else 503)

    def close(self) -> None:
        pass


def start(home: Path, agreed: bool) -> deniable.Client:
    registry = load(home / "metrics.toml")
    assert_type(registry, Registry)
    assert_type(deniable.__version__, str)
    courier: deniable.Transport = Courier()
    return deniable.Client(
        registry,
        directory=home / "telemetry",
        consent=agreed,
        transport=courier,
        upload_delay_seconds=0,
        background=False,
        strict=True,
    )


def start_over_http(home: Path) -> deniable.Client:
    return deniable.Client(
        home / "metrics.toml",
        endpoint="https://telemetry.example.org",
        key="key",
        directory=str(home),
    )


def start_by_convention() -> deniable.Client:
    registry = deniable.load_registry(resources.files("flightdeck") / "metrics.toml")
    assert_type(registry, deniable.Registry)
    assert_type(deniable.parse_registry(b"registry = 1"), deniable.Registry)
    deniable.Client(b"registry = 1", directory="device")
    return deniable.Client(
        resources.files("flightdeck") / "metrics.toml",
        directory=deniable.default_directory("flightdeck"),
    )


async def fetch(page: int) -> str:
    return str(page)


async def time(client: deniable.Client) -> None:
    with client.timer("delay") as nothing:
        assert_type(nothing, None)
    assert_type(await client.timer("delay", segment="beta")(fetch)(page=1), str)


def use(client: deniable.Client) -> None:
    with client as same:
        assert_type(same, deniable.Client)
        same.record("delay", Decimal("12.5"))
        outcome = same.record("theme", "dark")
        same.record("late", True)
        same.record("delay", 12.5)
        same.record("flight", {"carrier": "AA", "late": True})
        assert_type(outcome, deniable.Outcome)
        result = same.flush(timeout_seconds=1.0)
        assert_type(result, deniable.FlushResult)
        assert_type(result.sent, int)
        assert_type(same.forget(), int)
        same.consent = not same.consent
        status = same.status()
        assert_type(status, deniable.Status)
        assert_type(status.last_error, str | None)
        disclosed = same.disclosure()
        assert_type(disclosed, deniable.Disclosure)
        assert_type([said.sentence for said in disclosed.reports], list[str])
        for reason, count in status.dropped.items():
            print(reason, count + 1)


def test() -> None:
    recorder = RecordingClient("metrics.toml", strict=False)
    use(recorder)
    assert_type(recorder.recorded, list[Recorded])
    with capture(strict=False) as captured:
        use(start(Path(), agreed=False))
    assert_type(captured.recorded, list[Recorded])
    transport = InMemoryTransport()
    transport.answer(503, retry_after_seconds=5)
    transport.fail(OSError())
    assert_type(transport.reports, list[Part])


try:
    use(start(Path(), agreed=True))
except (deniable.ParameterError, deniable.RegistryError) as error:
    assert_type(error, deniable.ParameterError | deniable.RegistryError)
except deniable.RecordError as error:
    print(error)
except deniable.DeniableError:
    raise
"""

WRONG = """
import deniable

client = deniable.Client("metrics.toml", directory="device", consent="yes")
client.record("theme", object())
client.flush(2.0)
"""

TESTS = """
import pytest
from deniable import Outcome


def test_a_click(deniable_recorder):
    assert deniable_recorder.record("theme", "dark") is Outcome.RECORDED
    assert deniable_recorder.recorded == [("theme", "dark")]


@pytest.mark.xfail(strict=True)
def test_a_mistake(deniable_recorder):
    deniable_recorder.record("theme", "purple")
"""


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    environment = Environment(tmp_path_factory.mktemp("typed"))
    environment.install(str(wheel))
    environment.install("pytest")
    (environment.folder / "program.py").write_text(PROGRAM)
    for name, text in WRONG_PROGRAMS.items():
        (environment.folder / name).write_text(text)
    for name, registry in (("typed_metrics", METRICS), ("one_metric", REGISTRY)):
        (environment.folder / "metrics.toml").write_text(registry, "utf-8")
        succeed(environment.bin / "deniable", "typed", "metrics.toml", "-o", f"{name}.py",
                cwd=environment.folder)  # fmt: skip
    (environment.folder / "typed_program.py").write_text(TYPED_PROGRAM)
    for name in ("asyncio_service", "desktop"):
        (environment.folder / f"{name}.py").write_text((EXAMPLES / f"{name}.py").read_text())
    return environment


TYPED = ("typed_metrics.py", "one_metric.py", "typed_program.py")
CLEAN = ("program.py", "asyncio_service.py", "desktop.py", *TYPED)
WRONG_PROGRAMS = {"wrong.py": WRONG, "typed_wrong.py": TYPED_WRONG}


def mypy(installed, *files):
    command = (sys.executable, "-m", "mypy", "--strict", "--python-executable", installed.python)
    return run(*command, *files, cwd=installed.folder)


def pyright(installed, *files):
    settings = installed.folder / "pyrightconfig.json"
    settings.write_text('{"typeCheckingMode": "strict"}')
    command = (sys.executable, "-m", "pyright", "--pythonpath", installed.python)
    return run(*command, *files, cwd=installed.folder)


@pytest.fixture(scope="module", params=[mypy, pyright])
def errors(request, installed):
    """What a checker says of all programs: pairs of a file and a line."""
    result = request.param(installed, *CLEAN, *WRONG_PROGRAMS)
    assert result.returncode == 1, result.stdout + result.stderr
    return set(re.findall(r"(?m)^\W*(?:.*/)?(\w+\.py):(\d+):.* error: ?", result.stdout))


def test_a_program_that_uses_the_client_is_clean(errors):
    assert {name for name, _ in errors} == {*WRONG_PROGRAMS}


def test_a_program_that_misuses_the_client_is_told(errors):
    for name, program in WRONG_PROGRAMS.items():
        lines = program.splitlines()
        assert {lines[int(line) - 1] for file, line in errors if file == name} == {
            line for line in lines if re.search(r"record\(|timer\(|flush\(|consent=", line)
        }


def test_pytest_finds_the_fixture_in_the_wheel(installed):
    (installed.folder / "metrics.toml").write_text(REGISTRY)
    (installed.folder / "test_app.py").write_text(TESTS)
    (installed.folder / "pytest.ini").write_text("[pytest]\ndeniable_registry = metrics.toml\n")
    output = succeed(
        installed.python, "-m", "pytest", "-q", "-W", "error", "--strict-markers",
        cwd=installed.folder,
    )  # fmt: skip
    assert "1 passed, 1 xfailed" in output
