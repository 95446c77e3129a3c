"""What programs may import, and what the packages import in turn."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "client" / "deniable"
AGGREGATOR = ROOT / "aggregator" / "deniable_aggregator"
SHARED = ROOT / "shared" / "deniable_shared"


def modules(package: Path) -> list[Path]:
    found = sorted(package.rglob("*.py"))
    assert found
    return found


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in its code."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def in_a_new_interpreter(code: str) -> str:
    """What the code prints in an interpreter that has imported nothing."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("name", ["deniable", "deniable_aggregator", "deniable_analysis"])
def test_the_public_names_are_sorted_and_there(name):
    package = import_module(name)
    assert list(package.__all__) == sorted(package.__all__)
    for public in package.__all__:
        assert getattr(package, public) is not None


def test_the_client_offers_what_the_documentation_names():
    assert {"Client", "RegistryError", "Transport"} <= set(import_module("deniable").__all__)


def test_the_aggregator_offers_what_the_documentation_names():
    assert "create_app" in import_module("deniable_aggregator").__all__


def test_every_module_of_the_client_but_the_public_ones_is_private():
    public = {
        path.name
        for path in CLIENT.iterdir()
        if path.suffix == ".py" and not path.name.startswith("_")
    }
    assert public <= {"testing.py"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="enable"):
        import_module("deniable").enable  # noqa: B018  the access is the test


@pytest.mark.service
def test_importing_the_client_loads_nothing_heavy():
    heavy = {"numpy", "scipy", "flask", "sqlalchemy", "deniable_aggregator"}
    code = f"import deniable, sys; deniable.Client; print(sorted({heavy} & sys.modules.keys()))"
    assert in_a_new_interpreter(code) == "[]"


def test_the_client_is_built_on_the_standard_library_mmh3_and_msgpack():
    allowed = {"deniable", "deniable_shared", "mmh3", "msgpack"} | sys.stdlib_module_names
    for path in modules(CLIENT):
        needs = {
            "pytest_plugin.py": "pytest",
            "hook-deniable.py": "PyInstaller",
            "relay.py": "cryptography",
        }
        assert imported(path) <= allowed | {needs.get(path.name, "deniable")}, path


@pytest.mark.service
def test_nothing_in_the_client_leads_to_what_is_for_tests():
    code = (
        "import sys, deniable\n"
        "for name in deniable.__all__: getattr(deniable, name)\n"
        "print([n for n in sys.modules if n.startswith(('deniable.testing', 'deniable._testing'))])"
    )
    assert in_a_new_interpreter(code) == "[]"


def test_the_shared_package_depends_on_neither_side():
    allowed = {"deniable_shared", "mmh3", "msgpack"} | sys.stdlib_module_names
    for path in modules(SHARED):
        seals = path.relative_to(SHARED).as_posix() == "sealing/keys.py"
        assert imported(path) <= allowed | ({"cryptography"} if seals else set()), path


@pytest.mark.service
def test_what_seals_uploads_imports_cryptography_only_to_seal_them():
    code = (
        "import sys, deniable, deniable_shared.sealing\n"
        "for name in deniable.__all__: getattr(deniable, name)\n"
        "print([name for name in sys.modules if name.startswith('cryptography')])"
    )
    assert in_a_new_interpreter(code) == "[]"


def test_the_aggregator_does_not_import_the_client():
    importing = {path.name for path in modules(AGGREGATOR) if "deniable" in imported(path)}
    # They make the reports of simulated devices.
    assert importing == {"randomizing.py", "relayed.py"}


@pytest.mark.parametrize("package", [CLIENT, SHARED], ids=["client", "shared"])
def test_no_randomness_but_the_operating_systems(package):
    for path in modules(package):
        assert not {"random", "numpy"} & imported(path), path


def test_every_package_says_that_it_is_typed():
    for package in (CLIENT, AGGREGATOR, SHARED):
        assert (package / "py.typed").is_file()
