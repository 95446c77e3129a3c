"""What docs/operations/relay.md and the files that it names say of a relay exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from deniable_aggregator import Settings
from deniable_aggregator.doors.relay.accepting import EnvelopeHandler
from deniable_aggregator.doors.relay.figures import REASONS, RelayCollector
from deniable_aggregator.doors.server.granian_adapter import CONNECTIONS
from deniable_shared.remote import PATH as REMOTE_PATH
from deniable_shared.sealing import RELAYED_PATH
from tests.aggregator.relay.relayed import envelopes
from tests.command_line import deniable

DOCS = Path(__file__).parents[3] / "docs" / "operations"
DEPLOY = DOCS / "deploy"
PAGE = (DOCS / "relay.md").read_text(encoding="utf-8")
ALERTS = (DEPLOY / "relay.alerts.yml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "relay.compose.yaml").read_text(encoding="utf-8"))
UNIT = (DEPLOY / "relay.service").read_text(encoding="utf-8")
OURS = re.compile(r"\bdeniable_relay_[a-z_]+\b")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")

promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


@pytest.fixture
def figures(relay):
    """What Prometheus is told."""
    made = relay()
    made.store.add(envelopes(25))
    made.gateway.verdicts = dict.fromkeys(list(envelopes(25))[:3], "epoch_closed")
    made.pass_days(7)
    handler = EnvelopeHandler(made.store, made.settings)
    handler.refused["rate_limited"] += 1
    yield RelayCollector(made.store, handler, made.rounds, made.clock).text()
    handler.close()


def test_figures_say_what_became_of_every_envelope(relay, figures):
    del relay
    assert "deniable_relay_accepted_total 25.0" in figures
    assert 'deniable_relay_forwarded_total{outcome="stored"} 22.0' in figures
    assert 'deniable_relay_dropped_total{reason="epoch_closed"} 3.0' in figures
    assert 'deniable_relay_dropped_total{reason="too_few"} 0.0' in figures
    assert 'deniable_relay_refused_total{problem="rate_limited"} 1.0' in figures
    assert "deniable_relay_close_age_seconds 0.0" in figures
    assert {"too_few", "put_off", "lost", "unopened", "epoch_closed"} <= set(REASONS)


def test_alerts_are_about_figures(figures):
    measured = set(re.findall(r"(?m)^(deniable_relay_[a-z_]+)[{ ]", figures))

    assert set(OURS.findall(ALERTS)) <= measured


def test_operators_are_told_what_to_do_about_every_alert():
    told = re.findall(r"`(Relay[A-Z]\w+)`", PAGE)
    assert set(told) == set(re.findall(r"alert: (\w+)", ALERTS))


def test_every_option_that_is_named_is_one():
    known = set(OPTION.findall(CliRunner().invoke(deniable, ["relay", "--help"]).output))
    (started,) = re.findall(r"(?m)^ExecStart=/opt/deniable/bin/deniable relay (.*)$", UNIT)
    container = [word for word in COMPOSE["services"]["relay"]["command"] if word.startswith("--")]
    assert set(OPTION.findall(started)) | set(container) <= known
    of_page = set(re.findall(r"`(--[a-z-]+)`", PAGE))
    assert of_page
    assert of_page <= known


def test_the_unit_leaves_the_relay_what_it_may_take():
    (most,) = re.findall(r"(?m)^MemoryMax=(\d+)G$", UNIT)
    assert 5 * Settings().in_flight_bytes + (512 << 20) <= int(most) << 30
    (files,) = re.findall(r"(?m)^LimitNOFILE=(\d+)$", UNIT)
    assert int(files) > 4 * CONNECTIONS


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_the_proxy_of_an_aggregator_lets_a_relay_through(name):
    published = (DEPLOY / name).read_text(encoding="utf-8")
    for path in (RELAYED_PATH, REMOTE_PATH):
        assert re.search(rf"(?m)^\s+(location =|path) {path}( {{)?$", published), path


def test_containers_have_no_secrets_and_read_only_roots():
    for service in COMPOSE["services"].values():
        assert service["read_only"] is True
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (DEPLOY / source).exists()
    assert {name for name, each in COMPOSE["services"].items() if "ports" in each} == {"proxy"}
    caddyfile = (DEPLOY / "relay.Caddyfile").read_text(encoding="utf-8")
    variables = set(re.findall(r"\{\$([A-Z]+):", caddyfile))
    assert variables == set(COMPOSE["services"]["proxy"]["environment"])


@pytest.mark.service
@promtool
def test_promtool_has_no_complaint_about_any_figure(figures):
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=figures, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


EVERYTHING_WRONG = """
rule_files: [ RULES ]
evaluation_interval: 10m
tests:
  - interval: 10m
    input_series:
      - series: 'up{job="deniable-relay"}'
        values: '0x60'
      - series: 'deniable_relay_close_age_seconds'
        values: '777600x60'
      - series: 'deniable_relay_dropped_total{reason="too_few"}'
        values: '0x50 9x10'
      - series: 'deniable_relay_forwarding'
        values: '5x60'
      - series: 'deniable_relay_parts_refused_total'
        values: '0+1x60'
      - series: 'deniable_relay_used_ratio'
        values: '0.8x60'
      - series: 'deniable_relay_rounds_failed_total'
        values: '0+60x60'
    promql_expr_test:
      - expr: count(ALERTS{alertstate="firing"}) by (alertname)
        eval_time: 9h
        exp_samples:
"""


@pytest.mark.service
@promtool
def test_every_alert_fires_where_everything_is_wrong(tmp_path):
    expected = "".join(
        f"          - {{labels: '{{alertname=\"{name}\"}}', value: 1}}\n"
        for name in re.findall(r"alert: (\w+)", ALERTS)
    )
    file = tmp_path / "wrong.yml"
    rules = str(DEPLOY / "relay.alerts.yml")
    file.write_text(EVERYTHING_WRONG.replace("RULES", rules) + expected)
    command = ["promtool", "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
