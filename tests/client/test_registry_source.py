"""A registry may be a file, a resource of a package, or TOML."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from importlib import invalidate_caches, resources

import pytest

import deniable
from deniable_shared.letters import shipped_model
from tests.client.conftest import REGISTRY
from tests.client.transports import Accepting

BROKEN = REGISTRY.replace('type = "boolean"', 'type = "bool"', 1)
MODEL = shipped_model().body
WITH_MODEL = f"""{REGISTRY}
[metrics.query]
type = "string"
epsilon = 4.0
discover = true
model = "words.bin"
model_digest = "{hashlib.sha256(MODEL).hexdigest()}"
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package inside a zip from which programs import."""
    archive = tmp_path / "application.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_flightdeck/__init__.py", "")
        file.writestr("zipped_flightdeck/metrics.toml", WITH_MODEL)
        file.writestr("zipped_flightdeck/words.bin", MODEL)
        file.writestr("zipped_flightdeck/broken.toml", BROKEN)
        file.writestr("zipped_flightdeck/lonely/alone.toml", WITH_MODEL)
    monkeypatch.syspath_prepend(archive)
    invalidate_caches()
    yield resources.files("zipped_flightdeck")
    sys.modules.pop("zipped_flightdeck", None)


def test_a_registry_inside_a_zip_is_read_with_the_model_beside_it(package, directory):
    source = package / "metrics.toml"
    registry = deniable.load_registry(source)
    assert registry.metrics["query"].spec.letters.model.body == MODEL
    with deniable.Client(
        source, directory=directory, transport=Accepting(), consent=True, background=False
    ) as client:
        assert client.record("theme", "dark") is deniable.Outcome.RECORDED


def test_problems_inside_a_zip_name_archive_and_file(package):
    with pytest.raises(deniable.RegistryError, match=r"application\.zip/zipped_flightdeck/broken"):
        deniable.load_registry(package / "broken.toml")
    with pytest.raises(deniable.RegistryError, match=r"none\.toml: cannot be read"):
        deniable.load_registry(package / "none.toml")
    with pytest.raises(deniable.RegistryError, match=r"file beside the registry .*words\.bin"):
        deniable.load_registry(package / "lonely" / "alone.toml")


class Resource:
    """A resource as some importers make it: it has a name and no path."""

    name = "metrics.toml"

    def __init__(self, text):
        self.text = text

    def read_text(self, encoding):
        assert encoding == "utf-8"
        if self.text is None:
            raise KeyError("gone")
        return self.text


def test_a_resource_without_a_path_is_named_by_its_name():
    assert deniable.load_registry(Resource(REGISTRY)).application == "flightdeck"
    with pytest.raises(deniable.RegistryError, match=r"^metrics\.toml: metrics\.late\.type must"):
        deniable.load_registry(Resource(BROKEN))
    with pytest.raises(deniable.RegistryError, match=r"^metrics\.toml: cannot be read: 'gone'"):
        deniable.load_registry(Resource(None))


@pytest.mark.parametrize("text", [REGISTRY, REGISTRY.encode(), REGISTRY.replace("\n", "\r\n")])
def test_text_and_bytes_mean_what_the_file_means(registry, text):
    read = deniable.parse_registry(text)
    assert read == deniable.load_registry(registry) == deniable.load_registry(str(registry))


def test_a_client_takes_bytes_and_a_loaded_registry(directory):
    for source in (REGISTRY.encode(), deniable.parse_registry(REGISTRY)):
        with deniable.Client(source, directory=directory, transport=Accepting()) as client:
            assert "flightdeck" in repr(client)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BROKEN, r"^registry: metrics\.late\.type must be"),
        (b"\xff", r"^registry: must be TOML: 'utf-8'"),
        ("[", r"^registry: must be TOML"),
    ],
)
def test_problems_of_text_are_named(text, problem):
    with pytest.raises(deniable.RegistryError, match=problem):
        deniable.parse_registry(text)


def test_text_is_not_taken_for_a_path(directory):
    with pytest.raises(deniable.RegistryError, match=r"read by deniable\.parse_registry"):
        deniable.Client(REGISTRY, directory=directory, transport=Accepting())
