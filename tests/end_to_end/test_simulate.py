"""Simulated reports at a server: in development it takes them and says so, any other refuses."""

from __future__ import annotations

import re

from click.testing import CliRunner

from tests.aggregator.simulating.registries import HEAD, THEME
from tests.command_line import deniable as command
from tests.end_to_end import asking
from tests.end_to_end.serving import running

FEW = ("--devices", "300", "--days", "5")


def deniable(*arguments, **variables):
    return CliRunner().invoke(command, list(map(str, arguments)), env=variables)


def test_a_server_in_development_takes_simulated_reports_and_every_answer_says_so(tmp_path):
    registry = tmp_path / "metrics.toml"
    registry.write_text(HEAD + THEME)
    with running(tmp_path / "d.db", "--development", str(registry)) as server:
        said = dict(re.findall(r"(?m)^  export (\w+)=(\S+)$", server.output.read_text()))
        keys = {name: said[name] for name in ("DENIABLE_BATCH_KEY", "DENIABLE_TOKEN")}
        ask = ("estimate", "theme", "--server", server.url)
        done = deniable("simulate", registry, *FEW, "--server", server.url, **keys)
        assert done.exit_code == 0, done.stderr
        assert re.search(r"(?m)^theme: \d+ reports", done.stdout)
        assert "other reports" not in done.stdout
        assert "Simulated: the reports of this store" in deniable(*ask, **keys).stdout
        again = deniable("simulate", registry, *FEW, "--server", server.url, **keys)
        assert "other reports of these days" in again.stdout
        most = deniable("simulate", registry, "--days", "60", "--server", server.url, **keys)
        assert most.exit_code == 1
        assert "larger --accept-days" in most.stderr


def test_any_other_server_refuses_them_and_so_takes_none(tmp_path):
    registry = tmp_path / "metrics.toml"
    registry.write_text(HEAD + THEME)
    store = ("--store", tmp_path / "s.db")
    assert deniable("metrics", "register", registry, *store).exit_code == 0
    keys = {
        name: deniable(
            "keys", "create", *store, "--scope", scope, "--application", "editor"
        ).stdout.strip()
        for name, scope in (("DENIABLE_BATCH_KEY", "batch"), ("DENIABLE_TOKEN", "read"))
    }
    with running(tmp_path / "s.db") as server:
        done = deniable("simulate", registry, *FEW, "--server", server.url, **keys)
        assert done.exit_code == 1
        assert "The server takes no simulated reports (not_in_development)" in done.stderr
        headers = {"Authorization": f"Bearer {keys['DENIABLE_TOKEN']}"}
        metrics = asking.get(f"{server.url}/v1/metrics", headers=headers).json()["metrics"]
        assert [metric["reports"] for metric in metrics] == [0]


def test_a_store_that_is_left_answers_as_any_other_and_says_simulated(tmp_path):
    registry = tmp_path / "metrics.toml"
    registry.write_text(HEAD + THEME)
    store = tmp_path / "kept.db"
    done = deniable("simulate", registry, *FEW, "--store", store)
    assert done.exit_code == 0, done.stderr
    (token,) = re.findall(r"export DENIABLE_TOKEN=(\S+)", done.stdout)
    with running(store) as server:
        asked = deniable("estimate", "theme", "--server", server.url, DENIABLE_TOKEN=token)
        assert "Simulated: the reports of this store" in asked.stdout
        with asking.client(base_url=server.url) as browser:
            signed = browser.post("/sign-in", data={"token": token}, headers={"Origin": server.url})
            assert signed.status_code == 303, signed.text
            for page in ("/", "/health", "/health?metric=theme", "/metric/theme", "/operations"):
                shown = re.sub(r"(?s)<desc>.*?</desc>", "", browser.get(page).text)
                assert shown.count("devices that do not exist") == 1, page
