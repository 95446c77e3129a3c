"""What the documents in docs/operations and the files in its deploy name exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deniable_aggregator.answering.requests import CODES
from deniable_aggregator.doors.http.status import OK
from deniable_aggregator.doors.server.granian_adapter import CONNECTIONS
from deniable_aggregator.doors.server.prometheus import PrometheusCollector
from deniable_aggregator.doors.server.questions import QuestionProcesses
from deniable_aggregator.keeping.settings import CONSTRAINTS, Settings
from tests.aggregator.service import serving, upload

DOCS = Path(__file__).parents[3] / "docs" / "operations"
MONITORING = (DOCS / "monitoring.md").read_text(encoding="utf-8")
OPERATIONS = (DOCS / "running.md").read_text(encoding="utf-8") + MONITORING
ALERTS = (DOCS / "deploy" / "alerts.yml").read_text(encoding="utf-8")
OF_PROMETHEUS = re.compile(r"\b(?:deniable|process)_[a-z_]+\b")
SUFFIXES = ("_bucket", "_count", "_sum")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What Prometheus is told, and the checks of readiness."""
    with serving(tmp_path_factory.mktemp("operations") / "store.db") as service:
        service.register()
        for key in (None, service.key("write")):
            service.send(upload(), key=key)
        checks = service.http.get("/readyz").get_json()["checks"]
        questions = QuestionProcesses(Settings())  # none is started
        text = PrometheusCollector(service.running, questions=questions).text()
    names = set(re.findall(r"(?m)^([a-z_]+)[{ ]", text))
    return {name.removesuffix(end) for name in names for end in ("", *SUFFIXES)}, checks


def test_every_measure_is_in_the_table_and_every_one_in_the_table_is_measured(told):
    table = set(OF_PROMETHEUS.findall(MONITORING))
    ours = {name for name in told[0] if name.startswith("deniable_")}
    measured = {name for name in ours if not name.endswith(SUFFIXES)}
    assert {name for name in table if name.startswith("deniable_")} == measured
    assert table <= told[0]


def test_alerts_are_about_what_is_measured(told):
    assert set(OF_PROMETHEUS.findall(ALERTS)) <= told[0]
    for codes in re.findall(r'outcome=~?\s*"([a-z_|]+)"', ALERTS):
        assert set(codes.split("|")) <= set(CODES)


def test_operators_are_told_what_to_do_about_every_alert():
    told = re.findall(r"`(Deniable\w+)`", MONITORING)
    assert set(told) == set(re.findall(r"alert: (\w+)", ALERTS))


def test_the_unit_leaves_the_server_and_its_processes_what_they_may_take():
    unit = (DOCS / "deploy" / "deniable.service").read_text(encoding="utf-8")
    settings = Settings()
    questions = settings.question_processes * settings.question_memory_bytes
    estimates, discovery = settings.question_memory_bytes, settings.discovery_memory_bytes
    server = 5 * settings.in_flight_bytes + settings.queue_bytes + (512 << 20)
    (most,) = re.findall(r"(?m)^MemoryMax=(\d+)G$", unit)
    assert server + questions + estimates + discovery <= int(most) << 30
    assert "MemoryHigh" not in unit  # it would slow the processes before they meet their own limits
    (ending,) = re.findall(r"(?m)^TimeoutStopSec=(\d+)$", unit)
    assert settings.drain_seconds + settings.body_seconds + settings.queue_seconds < int(ending)
    (files,) = re.findall(r"(?m)^LimitNOFILE=(\d+)$", unit)
    assert int(files) > 4 * CONNECTIONS


@pytest.mark.service
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_has_no_complaint_about_any_figure(tmp_path):
    with serving(tmp_path / "store.db") as service:
        service.register()
        for key in (None, service.key("write"), "nonsense"):
            service.send(upload(), key=key)
        text = PrometheusCollector(service.running, questions=QuestionProcesses(Settings())).text()
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wrong = text.replace("clock_ahead_seconds", "clock_ahead_days")
    done = subprocess.run(command, input=wrong, capture_output=True, text=True, check=False)
    assert "base unit" in done.stdout + done.stderr


@pytest.mark.service
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_every_alert_fires_where_everything_is_wrong(tmp_path):
    fired = set()
    for name in ("alerts_test.yml", "alerts_of_weeks_test.yml"):
        wrong = Path(__file__).with_name(name).read_text(encoding="utf-8")
        fired |= set(re.findall(r"alertname(?:=.|: )(\w+)", wrong))
        file = tmp_path / name
        file.write_text(wrong.replace("RULES", str(DOCS / "deploy" / "alerts.yml")))
        command = ["promtool", "test", "rules", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert fired == set(re.findall(r"alert: (\w+)", ALERTS))


def test_every_check_of_readiness_is_explained(told):
    assert set(told[1].values()) == {OK}
    assert set(re.findall(r"(?m)^\| `([a-z]+)` \|", MONITORING)) == set(told[1])


def test_settings_and_codes_that_are_named_exist():
    known = set(CONSTRAINTS) | set(CODES) | set(OF_PROMETHEUS.findall(OPERATIONS))
    others = {"log_statement", "log_connections", "log_parameter_max_length_on_error"}
    others |= {"rate_limit", "max_wal_size"}
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", OPERATIONS))
    assert named - known - others == set()


def test_every_problem_of_uploads_has_an_entry():
    entries = MONITORING.partition("## Logs")[2]
    codes = ("overloaded", "body_too_slow", "body_cut_off", "rate_limited", "unknown_digest")
    for code in (*codes, "unknown_key", "storage_full", "quota_spent"):
        assert f"`{code}`" in entries
