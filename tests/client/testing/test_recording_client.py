"""What programs test themselves with."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable
from deniable import Client, Outcome
from deniable.testing import InMemoryTransport, RecordingClient
from deniable_shared.registry import load, parse
from tests.client.conftest import REGISTRY

ROOT = Path(__file__).parents[3]
DARK = ("theme", "dark")
WAIT_SECONDS = 30.0


@pytest.fixture
def transport():
    return InMemoryTransport()


@pytest.fixture
def client(make_client, transport):
    return make_client(transport=transport)


@pytest.fixture
def recorder(registry, clock):
    return RecordingClient(registry, clock=clock)


def test_the_transport_decodes_what_a_client_sends(client, transport, registry):
    client.record(*DARK)
    assert client.flush().sent == 1
    (report,) = transport.reports
    assert report.digest == load(registry).metrics["theme"].spec.digest
    assert report.epoch > 20_000
    assert report.payload in (b"\x00", b"\x01", b"\x02")


def test_an_answer_is_given_and_a_retry_counts_once(client, transport):
    transport.answer(503, retry_after_seconds=0.0)
    client.record(*DARK)
    assert client.flush().pending == 1
    assert transport.reports == []
    transport.answer(204)
    assert client.flush().sent == 1
    assert len(transport.reports) == 1
    assert len(transport.bodies) == 2
    assert len(set(transport.bodies)) == 1


def test_a_final_refusal_is_counted(client, transport):
    transport.answer(410)
    client.record(*DARK)
    assert client.flush().dropped == 1
    assert client.status().dropped == {"refused_410": 1}


def test_a_failing_transport_looks_like_a_server_that_cannot_be_reached(client, transport):
    transport.fail()
    client.record(*DARK)
    assert client.flush().pending == 1
    assert "connection_refused" in client.status().last_error
    transport.fail(ValueError("anything"))
    with pytest.raises(ValueError, match="anything"):
        transport.send(transport.bodies[0], 1.0)


def test_a_transport_that_hangs_goes_on_when_it_is_released(client, transport):
    transport.hang()
    client.record(*DARK)
    assert client.flush(timeout_seconds=0.05).pending == 1
    transport.release()
    sent = threading.Event()
    original = transport.close

    def close():
        original()
        sent.set()

    transport.close = close
    client.flush(timeout_seconds=WAIT_SECONDS)
    client.close()
    assert sent.wait(WAIT_SECONDS)
    assert len(transport.reports) == 1


def test_a_transport_that_hangs_keeps_to_the_timeout(transport):
    transport.hang()
    with pytest.raises(TimeoutError):
        transport.send(b"", 0.01)


def test_recorded_values_are_kept_in_order(recorder):
    assert recorder.record(*DARK) is Outcome.RECORDED
    flight = {"carrier": "AA", "late": True}
    assert recorder.record("flight", flight) is Outcome.RECORDED
    flight["late"] = False
    assert recorder.recorded == [DARK, ("flight", {"carrier": "AA", "late": True})]


def test_a_second_value_in_a_period_is_a_call_and_no_report(recorder, clock):
    recorder.record(*DARK)
    recorder.record("theme", "light")
    assert recorder.recorded == [DARK]
    assert recorder.calls[-1] == ("theme", "light", Outcome.ALREADY_REPORTED)
    clock.forward(1)
    recorder.record("theme", "light")
    assert recorder.recorded == [DARK, ("theme", "light")]


@pytest.mark.parametrize(
    ("metric", "value", "outcome"),
    [
        ("theme", "purple", Outcome.OUTSIDE_DOMAIN),
        ("theme", True, Outcome.OUTSIDE_DOMAIN),
        ("thema", "dark", Outcome.UNKNOWN_METRIC),
        ("bygone", True, Outcome.EXPIRED),
    ],
)
def test_mistakes_raise_unless_strict_is_false(registry, clock, metric, value, outcome):
    strict = RecordingClient(registry, clock=clock)
    with pytest.raises(deniable.RecordError) as raised:
        strict.record(metric, value)
    assert "purple" not in str(raised.value)
    lenient = RecordingClient(registry, strict=False, clock=clock)
    assert lenient.record(metric, value) is outcome
    assert strict.calls == lenient.calls == [(metric, value, outcome)]
    assert strict.recorded == lenient.recorded == []


def test_without_consent_nothing_is_kept(registry):
    recorder = RecordingClient(registry, consent=False)
    assert recorder.record(*DARK) is Outcome.NO_CONSENT
    assert recorder.recorded == []
    recorder.consent = True
    assert recorder.record(*DARK) is Outcome.RECORDED


def test_pending_reports_are_flushed_forgotten_and_withdrawn(recorder, clock):
    recorder.record(*DARK)
    assert recorder.status().pending == 1
    assert recorder.flush().sent == 1
    assert recorder.status().pending == 0
    clock.forward(7)
    recorder.record("late", True)
    assert recorder.forget() == 1
    recorder.record(*DARK)
    recorder.consent = False
    assert recorder.status().pending == 0
    assert not recorder.consent
    assert [metric for metric, _ in recorder.recorded] == ["theme", "late", "theme"]


def test_recording_with_a_closed_recorder_answers_closed(registry):
    with RecordingClient(registry, strict=False) as recorder:
        pass
    assert recorder.record(*DARK) is Outcome.CLOSED


def test_the_budget_is_spent_as_in_a_real_client(recorder):
    recorder.record(*DARK)
    assert recorder.record("heavy", True) is Outcome.OVER_BUDGET
    assert recorder.status().epsilon_left_today == pytest.approx(3.0)


def test_a_recorder_writes_nothing_and_starts_nothing(recorder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    threads = set(threading.enumerate())
    recorder.record(*DARK)
    recorder.flush()
    recorder.consent = False
    recorder.close()
    assert set(tmp_path.rglob("*")) == before
    assert set(threading.enumerate()) <= threads


def test_a_recorder_cannot_be_taken_for_a_client(registry, directory):
    recorder = RecordingClient(registry)
    recorder.record(*DARK)
    assert repr(recorder).startswith("RecordingClient(")
    assert "for tests" in repr(recorder)
    assert "dark" not in repr(recorder)
    for setting in ({"endpoint": "https://a.b"}, {"key": "k"}, {"directory": directory}):
        with pytest.raises(TypeError):
            RecordingClient(registry, **setting)


def test_a_recorder_has_the_methods_of_a_client():
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            mine = inspect.signature(getattr(RecordingClient, name))
            assert mine == inspect.signature(method), name


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("forward"), st.integers(-2, 9)),
        st.tuples(
            st.sampled_from(["theme", "late", "emoji", "city", "heavy", "bygone", "nonsense"]),
            st.sampled_from(["dark", "purple", True, 3.0, "\ud800", float("nan")]),
        ),
    ),
    max_size=25,
)


@settings(max_examples=30)  # each makes the files of a real client
@given(steps=STEPS)
def test_a_recorder_answers_as_a_client_does(tmp_path_factory, steps):
    from tests.client.conftest import Clock

    clock = Clock()
    recorder = RecordingClient(parse(REGISTRY), strict=False, clock=clock)
    real = Client(
        parse(REGISTRY),
        directory=tmp_path_factory.mktemp("device") / "telemetry",
        transport=InMemoryTransport(),
        consent=True,
        background=False,
        clock=clock,
    )
    with real:
        for metric, value in steps:
            if metric == "forward":
                clock.forward(value)
            else:
                assert recorder.record(metric, value) is real.record(metric, value)
        mine, theirs = recorder.status(), real.status()
    assert mine.outcomes == theirs.outcomes
    assert mine.epsilon_left_today == theirs.epsilon_left_today
    assert mine.epsilon_left_lifetime == theirs.epsilon_left_lifetime


def in_pytest(folder, code, *arguments, settings=""):
    (folder / "metrics.toml").write_text(REGISTRY)
    (folder / "test_app.py").write_text(code)
    (folder / "pytest.ini").write_text(f"[pytest]\n{settings}")
    plugin = "deniable._testing.pytest_plugin"
    command = [sys.executable, "-m", "pytest", "-q", "-p", plugin, "-W", "error"]
    return subprocess.run(
        [*command, "--strict-markers", *arguments],
        cwd=folder,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **_PATHS},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


_PATHS = {"PYTHONPATH": ":".join(path for path in sys.path if path)}

TWO_TESTS = """
def test_one(deniable_recorder):
    deniable_recorder.record("theme", "dark")
    assert deniable_recorder.recorded == [("theme", "dark")]

def test_two(deniable_recorder):
    assert deniable_recorder.recorded == []
"""


@pytest.mark.service
def test_the_fixture_is_new_for_each_test(tmp_path):
    settings = "deniable_registry = metrics.toml"
    assert "2 passed" in in_pytest(tmp_path, TWO_TESTS, settings=settings)


@pytest.mark.service
@pytest.mark.parametrize("arguments", ["'metrics.toml'", "path='metrics.toml'"])
def test_a_marker_names_another_registry(tmp_path, arguments):
    mark = f"pytestmark = pytest.mark.deniable_registry({arguments})"
    code = f"import pytest\n{mark}\n{TWO_TESTS}"
    assert "2 passed" in in_pytest(tmp_path, code, settings="deniable_registry = missing.toml")


@pytest.mark.service
def test_without_a_registry_the_fixture_says_how_to_name_one(tmp_path):
    output = in_pytest(tmp_path, TWO_TESTS)
    assert "2 errors" in output
    assert "set deniable_registry = metrics.toml" in output


@pytest.mark.service
def test_the_tests_in_the_document_pass(tmp_path):
    text = (ROOT / "docs/client/testing.md").read_text("utf-8")
    registry = tmp_path / "src/flightdeck/metrics.toml"
    registry.parent.mkdir(parents=True)
    registry.write_text(REGISTRY)
    (settings,) = re.findall(r"```toml\n\[tool.pytest.ini_options\]\n(.*?)```", text, re.DOTALL)
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert "4 passed" in in_pytest(tmp_path, code, settings=settings.replace('"', ""))
    assert not (tmp_path / "state").exists()


@pytest.mark.service
def test_the_plugin_alone_imports_no_client(tmp_path):
    code = """
import sys

def test_nothing():
    assert "deniable._testing.pytest_plugin" in sys.modules
    assert not {"deniable._client", "deniable.testing", "sqlite3", "mmh3"} & set(sys.modules)
"""
    assert "1 passed" in in_pytest(tmp_path, code)


def test_a_segment_is_kept_with_its_value(clock):
    segmented = parse(
        'registry = 1\napplication = "flightdeck"\n'
        "[budget]\nepsilon_per_day = 4\nepsilon_lifetime = 40\n"
        '[metrics.theme]\ntype = "category"\nvalues = ["light", "dark"]\ncomplete = true\n'
        "epsilon = 1\n"
        'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
    )
    with RecordingClient(segmented, clock=clock, strict=False) as recorder:
        assert recorder.record("theme", "dark", segment="nightly") is Outcome.OUTSIDE_DOMAIN
        assert recorder.record("theme", "dark") is Outcome.OUTSIDE_DOMAIN
        assert recorder.record("theme", "dark", segment="beta") is Outcome.RECORDED
        assert recorder.recorded == [("theme", ("dark", "beta"))]
        said = recorder.disclosure().reports
        assert "channel=" in str(said)
