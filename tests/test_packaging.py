"""The wheel, installed as its users install it, with the source tree out of the way."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.installed import Environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
REGISTRY = """
registry = 1
application = "packaging"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.dark]
type = "boolean"
epsilon = 1.0
"""
PACKAGES = {"deniable", "deniable_aggregator", "deniable_analysis", "deniable_shared"}


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("light"))
    environment.install(str(wheel))
    return environment


def test_the_wheel_holds_four_typed_packages_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0] for name in names}
    assert {root for root in roots if not root.endswith(".dist-info")} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or name.endswith(".csv") for name in names)


def test_every_module_of_the_source_tree_is_in_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = (ROOT / "client", ROOT / "aggregator", ROOT / "shared")
    modules = {str(path.relative_to(root)) for root in sources for path in root.rglob("*.py")}
    assert modules <= names


def test_the_sdist_holds_what_a_packager_needs(distributions):
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "tests/test_packaging.py"} <= names
    assert "demo/DATA.md" in names
    assert not any(name.startswith((".venv", "build/", "dist/")) for name in names)


def test_the_light_install_brings_mmh3_and_msgpack_alone(light):
    assert light.installed() == {"deniable", "mmh3", "msgpack"}


def test_the_light_install_has_a_client_and_loads_nothing_heavy(light):
    code = """
import importlib.util, sys
assert not any(importlib.util.find_spec(name) for name in ("numpy", "flask"))
import deniable
for name in deniable.__all__:
    getattr(deniable, name)
print(deniable.__file__, "numpy" in sys.modules, "flask" in sys.modules)
"""
    where, numpy, flask = light.evaluate(code).rsplit(" ", 2)
    assert where.startswith(str(light.folder.parent))
    assert (numpy, flask) == ("False", "False")


def test_the_light_install_records_a_value(light):
    (light.folder / "metrics.toml").write_text(REGISTRY)
    code = """
import deniable
with deniable.Client("metrics.toml", endpoint="http://127.0.0.1:9", key="k",
                     directory="device", consent=True) as client:
    client.record("dark", True)
    print(client.flush(timeout_seconds=0).pending)
"""
    assert light.evaluate(code) == "1"


@pytest.fixture(scope="module")
def registry(light) -> Path:
    path = light.folder / "shown.toml"
    path.write_text(REGISTRY)
    return path


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("--version",), "deniable, version "),
        (("--help", "--all"), "* needs pip install 'deniable[aggregator]'"),
        (("check", "shown.toml"), "needs about 57,000 devices to detect"),
        (("plan", "shown.toml"), "a value asked for by itself: from "),
        (("plan", "--type", "string", "--epsilon", "2"), "1,000 at once: from "),
        (("init", "new.toml"), "wrote new.toml, of the application empty"),
        (("try", "shown.toml"), '"no such value" is answered outside_domain: dark takes a bool'),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
@pytest.mark.usefixtures("registry")
def test_the_light_install_checks_and_plans(light, words, printed):
    done = light.run("deniable", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert printed in " ".join(done.stdout.split())


def test_the_light_install_verifies_its_own_files(light):
    done = light.run("deniable", "verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert "files are the same, and no other was added" in done.stdout


def test_the_light_install_makes_a_certificate_that_its_files_agree_with(light, registry):
    audited = light.run("deniable", "audit", str(registry), "--certificate", "certificate.json")
    assert (audited.returncode, audited.stderr) == (0, "")
    done = light.run("deniable", "verify", "--certificate", "certificate.json", "--json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["certificate"]["compared"] == said["files"] > 200


def test_the_light_install_shows_what_the_device_has_said(light, registry):
    code = f"""
import deniable
with deniable.Client({str(registry)!r}, endpoint="http://127.0.0.1:9", key="k",
                     directory="shown", consent=True) as client:
    print(client.record("dark", True))
"""
    assert light.evaluate(code) == "recorded"
    shown = light.run("deniable", "show", "--directory", "shown")
    assert (shown.returncode, shown.stderr) == (0, "")
    text = " ".join(shown.stdout.split())
    assert "would have said so with probability 0.73 if it were true, 0.27 if not" in text


def test_the_light_install_completes_words(light):
    code = """
import os, subprocess, sys
from pathlib import Path
script = Path(sys.executable).with_name("deniable")
for words in (["metrics", ""], ["plan", "--epsilon"], ["keys", ""]):
    environment = {**os.environ, "_DENIABLE_COMPLETE": "words"}
    done = subprocess.run([script, *words], env=environment, capture_output=True, text=True)
    print(done.returncode, [line.split("\\t")[0] for line in done.stdout.splitlines()], done.stderr)
"""
    names, options, others = light.evaluate(code).splitlines()
    assert names.strip() == "0 ['list', 'show', 'history', 'register', 'remove']"
    assert options.strip() == "0 ['--epsilon']"
    assert others.strip() == "0 []"


def test_without_its_extra_the_aggregator_says_how_to_install_it(light):
    code = """
try:
    from deniable_aggregator import create_app
except ImportError as error:
    print(error)
"""
    assert "pip install 'deniable[aggregator]'" in light.evaluate(code)


@pytest.mark.parametrize("command", ["serve", "keys", "estimate"])
def test_without_its_extra_a_command_says_how_to_install_it_in_one_line(light, command):
    done = light.run("deniable", command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: deniable {command} needs ")
    assert done.stderr.endswith(": pip install 'deniable[aggregator]'\n")
    assert done.stderr.count("\n") == 1


def test_the_full_install_has_a_command_and_an_app(wheel, tmp_path):
    full = Environment(tmp_path)
    full.install(f"{wheel}[aggregator]")
    listed = full.run("deniable", "--help").stdout
    assert "serve" in listed
    assert "show" in listed
    code = "from deniable_aggregator import create_app; print(callable(create_app))"
    assert full.evaluate(code) == "True"
    result = full.run("deniable", "check", str(ROOT / "demo" / "metrics.toml"))
    assert result.returncode == 0, result.stderr
    assert "browser" in result.stdout
