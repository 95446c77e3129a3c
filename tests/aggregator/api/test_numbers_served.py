"""The whole road of a number: recorded by a client, counted by a server, printed and drawn."""

from __future__ import annotations

import contextlib
import json
import math
import re
import threading
from wsgiref.simple_server import make_server

import msgspec
import pytest
from click.testing import CliRunner

import deniable
from deniable.randomizers import randomizer_for
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.media.pictures.files import save
from deniable_aggregator.telling.figures import figure_of
from deniable_shared import registry
from tests.aggregator.cli.test_cli import Quiet
from tests.aggregator.served import number, numbers
from tests.aggregator.service import TODAY, problem, serving, wire
from tests.command_line import deniable as command
from tests.privacy.conformance import secret_of, seeded

REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 40.0
[metrics.startup_seconds]
type = "number"
description = "From the click to the first window"
range = [0.0, 30.0]
epsilon = 1.0
[metrics.noisy_seconds]
type = "number"
range = [0.0, 30.0]
epsilon = 1.0
delta = 1e-6
mechanism = "gaussian"
[metrics.air_time]
type = "distribution"
range = [0, 600]
bins = 12
epsilon = 2.0
[metrics.taxi_time]
type = "distribution"
range = [0, 60]
bins = 6
epsilon = 2.0
mechanism = "dbitflip"
"""
METRICS = registry.parse(REGISTRY).metrics
VALUES = {"startup_seconds": 6.0, "noisy_seconds": 6.0, "air_time": 125.0, "taxi_time": 15.0}


@pytest.fixture
def service(tmp_path):
    with serving(tmp_path / "store.db", max_body_bytes=10_000_000) as running:
        assert running.register(REGISTRY).status_code == 200
        yield running


def send(service, name, reports=2_000):
    spec, stream = METRICS[name].spec, seeded(name)
    randomizer, item = randomizer_for(spec, stream), spec.encode(VALUES[name])
    payload = b"".join(randomizer.report(item, secret_of(device)) for device in range(reports))
    part = wire.Part(spec.digest, TODAY, payload)
    assert service.send(wire.encode(wire.Upload(stream.take(16), (part,)))).status_code == 204


@pytest.fixture
def command_line(service):
    with make_server("127.0.0.1", 0, service.app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        environment = {"COLUMNS": "120", "DENIABLE_SERVER": address}
        runner = CliRunner(env={**environment, "DENIABLE_TOKEN": service.read})
        yield lambda *arguments: runner.invoke(command, ["estimate", *arguments])
        server.shutdown()
        thread.join()


def test_numbers_of_a_real_client_reach_the_tally(service, tmp_path):
    class Posting:
        def send(self, body, timeout_seconds):  # noqa: ARG002  in the same process
            return deniable.Response(service.send(body).status_code)

        def close(self):
            pass

    client = deniable.Client(
        registry.parse(REGISTRY),
        directory=tmp_path / "device",
        consent=True,
        clock=lambda: (TODAY + 0.5) * 86_400,
        transport=Posting(),
    )
    with contextlib.closing(client):
        assert client.record("startup_seconds", 12.5) == "recorded"
        assert client.record("startup_seconds", 12.5) == "already_reported"
        assert client.record("air_time", 610) == "recorded"
        for value in (True, "12.5", math.nan, math.inf, None):
            assert client.record("noisy_seconds", value) == "outside_domain"
        assert client.record("noisy_seconds", -3) == "recorded"
        assert client.flush(timeout_seconds=120).pending == 0
    for name in ("startup_seconds", "air_time", "noisy_seconds"):
        assert service.ask(f"/v1/metrics/{name}/estimate").get_json()["head"]["reports"] == 1


@pytest.mark.parametrize("name", ["startup_seconds", "noisy_seconds"])
def test_a_mean_is_answered_in_its_unit(service, name):
    send(service, name)
    answer = service.ask(f"/v1/metrics/{name}/estimate").get_json()
    assert answer["head"]["reports"] == 2_000
    mean = number(answer, "mean")
    assert abs(mean["estimate"] - VALUES[name]) < 4 * mean["standard_error"]
    assert ("delta" in answer["head"]["versions"][0]) == (name == "noisy_seconds")


@pytest.mark.parametrize("name", ["air_time", "taxi_time"])
def test_a_distribution_is_answered_with_bins_and_quantiles(service, name):
    send(service, name)
    answer = service.ask(f"/v1/metrics/{name}/estimate").get_json()
    bins = numbers(answer, "bin")
    assert len(bins) == METRICS[name].spec.mechanism.size
    fullest = max(bins, key=lambda row: row["estimate"])
    assert fullest["bin_from"] <= VALUES[name] < fullest["bin_to"]
    median = number(answer, "quantile", quantile=0.5)
    assert fullest["bin_from"] <= median["estimate"] <= fullest["bin_to"]
    other = service.ask(f"/v1/metrics/{name}/estimate?reconstruction=ems").get_json()
    methods = {each["method"] for each in numbers(other, "bin", "quantile")}
    assert methods == {"ems" if name == "air_time" else "unbiased"}


def test_questions_about_items_are_refused_for_numbers(service):
    send(service, "startup_seconds", 10)
    path = "/v1/metrics/startup_seconds/estimate"
    for query in ("?top=3", "?detected=true", "?postprocess=norm-sub", "?interval=all"):
        document = problem(service.ask(path + query), 422, "estimate_refused")
        assert "must be left out: it is about values" in document["detail"]
    listed = service.ask(path, method="POST", json={"candidates": ["6.0"]})
    problem(listed, 422, "estimate_refused")
    problem(service.ask(f"{path}?reconstruction=inverse"), 400, "malformed_question")


def test_the_command_line_prints_a_mean_with_its_error(service, command_line, tmp_path):
    send(service, "startup_seconds")
    done = command_line("startup_seconds")
    assert done.exit_code == 0, done.output
    assert "(startup_seconds)" in done.output
    words = " ".join(done.output.split())
    said = re.search(r"those outside 0 to 30 counted as 0 or 30, is (\S+) to (\S+)\.", words)
    assert 2 < float(said[1]) < float(said[2]) < 10  # five errors around 6
    assert "2,000 reports, hybrid mechanism at epsilon 1.00" in done.output
    assert json.loads(command_line("startup_seconds", "--json").output)["head"]["kind"] == "mean"
    picture = command_line("startup_seconds", "--picture", str(tmp_path / "mean.svg"))
    assert picture.exit_code == 0
    assert (tmp_path / "mean.svg").read_text().startswith("<svg")


def test_the_command_line_discloses_delta(service, command_line):
    send(service, "noisy_seconds", 50)
    assert "delta 1e-06: (epsilon, delta)" in command_line("noisy_seconds", "--explain").output


def test_the_command_line_prints_a_histogram_with_bars_and_quantiles(
    service, command_line, tmp_path
):
    send(service, "air_time")
    picture = tmp_path / "air.svg"
    done = command_line("air_time", "--explain", "--picture", str(picture))
    assert done.exit_code == 0, done.output
    for expected in ("●", "mean ", "median   ", "most likely histogram"):
        assert expected in done.output, done.output
    assert picture.read_text().startswith("<svg")
    assert "neighbouring bins averaged" in command_line(
        "air_time", "--explain", "--reconstruction", "ems"
    ).output.replace("\n", " ")


def test_the_chart_of_a_distribution_holds_its_bins_and_median(service, tmp_path):
    send(service, "taxi_time")
    content = service.ask("/v1/metrics/taxi_time/estimate").get_data()
    answer = msgspec.json.decode(content, type=Answer)
    figure = figure_of(answer)
    (histogram,) = figure.panels
    drawn = [(bar.start, bar.end, bar.interval.low, bar.interval.high) for bar in histogram.bars]
    assert drawn == [(each.bin_from, each.bin_to, each.low, each.high) for each in answer.of("bin")]
    placed = {each.name: each.interval.estimate for each in histogram.placed}
    (median,) = (each for each in answer.of("quantile") if each.quantile == 0.5)
    assert placed["median"] == median.estimate
    assert save(figure, tmp_path / "taxi.png") is None
    assert (tmp_path / "taxi.png").read_bytes().startswith(b"\x89PNG")


def test_a_check_says_what_a_number_reveals_and_needs(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    done = CliRunner(env={"COLUMNS": "120"}).invoke(command, ["check", str(file)])
    assert done.exit_code == 0, done.output
    for expected in (
        "0 to 30; values outside count as its ends",
        "0 to 600 in 12 bins; values outside count as its ends",
        "hybrid mechanism (hybrid); reports of 2 bytes",
        "needs about 41,200 devices to be within ± 1% of the range",
        "1e-6 comes on top: in rare cases a report reveals more than that",
        "1% bin",
    ):
        assert expected in done.output, done.output
    done = CliRunner().invoke(command, ["check", str(file), "--json"])
    mean, noisy, waves, flips = json.loads(done.output)["metrics"]
    assert mean["devices_for_mean_within_1_percent"] == 41_199
    assert mean["devices_to_detect_1_percent"] is None
    assert (mean["delta"], noisy["delta"] > 9e-7) == (0, True)
    assert waves["range"] == [0, 600]
    assert flips["devices_to_detect_1_percent"] > 1_000
