"""``deniable serve --development``: what is prepared and printed before the server starts."""

from __future__ import annotations

import re
import time
from contextlib import closing

import pytest

from deniable_aggregator import Store
from deniable_aggregator.doors.cli.serve import KEY_DAYS, prepare_development
from deniable_aggregator.keeping.key_verifier import KeyVerifier
from deniable_aggregator.keeping.settings import Settings
from deniable_shared.commands.first_registry import registry_text
from deniable_shared.errors import ParameterError
from deniable_shared.periods import epoch_at


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "my metrics.toml"
    file.write_text(registry_text("flightdeck"), "utf-8")
    return file


def variables(printed):
    return dict(re.findall(r"(?m)^  export (\w+)=(\S+)$", printed))


def test_metrics_are_registered_and_keys_made_that_end_after_a_month(tmp_path, registry):
    settings = Settings(store=str(tmp_path / "d.db"))
    printed = prepare_development(settings, registry)
    said = variables(printed)
    assert said["DENIABLE_ENDPOINT"] == "http://127.0.0.1:8787"
    assert "DENIABLE_SERVER" not in said
    assert f"deniable try '{registry}'" in printed
    today = epoch_at(time.time())
    with closing(Store(settings.store)) as store:
        keys = {key.scope: key for key in store.keys.all()}
        assert keys.keys() == {"write", "batch", "read"}
        assert {key.expires for key in keys.values()} <= {today + KEY_DAYS, today + KEY_DAYS - 1}
        assert {key.label for key in keys.values()} == {"development"}
        verifier = KeyVerifier(store)
        assert verifier.verify(said["DENIABLE_KEY"]).scope == "write"
        assert verifier.verify(said["DENIABLE_BATCH_KEY"]).scope == "batch"
        assert verifier.verify(said["DENIABLE_TOKEN"]).application == "flightdeck"
        assert len(store.metrics.all().readable) == 3


def test_a_second_start_adds_what_has_changed_and_leaves_the_keys_valid(tmp_path, registry):
    settings = Settings(store=str(tmp_path / "d.db"), port=8940)
    first = variables(prepare_development(settings, registry))
    registry.write_text(registry.read_text("utf-8").replace("system", "sepia"), "utf-8")
    second = variables(prepare_development(settings, registry))
    assert second["DENIABLE_SERVER"] == "http://127.0.0.1:8940"
    with closing(Store(settings.store)) as store:
        verifier = KeyVerifier(store)
        assert all(verifier.verify(said["DENIABLE_KEY"]) for said in (first, second))
        assert len(store.metrics.all().readable) == 4


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "telemetry.example.org"])
def test_a_server_that_others_could_reach_is_not_for_development(tmp_path, registry, host):
    settings = Settings(store=str(tmp_path / "d.db"), host=host)
    with pytest.raises(ParameterError, match="host must be this machine's with --development"):
        prepare_development(settings, registry)
    assert not (tmp_path / "d.db").exists()
