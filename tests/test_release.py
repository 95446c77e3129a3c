"""Releases: whoever builds the same sources gets the same bytes."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deniable_shared.commands.table import COMMANDS, find_command
from tests.installed import succeed
from tools.release.building import DifferentBuildsError, build_twice, unpack

ROOT = Path(__file__).parents[1]
PINS = ROOT / "tools/release/requirements.txt"

pytestmark = pytest.mark.service


@pytest.fixture(scope="module")
def checkout(distributions, tmp_path_factory) -> Path:
    """A checkout of the project by git, and files that are not committed."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("checkout")
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        unpack(archive, folder)
    (root,) = folder.iterdir()
    (root / "PKG-INFO").unlink()
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "all"),
    ):
        succeed("git", *words, cwd=root)
    (root / "notes.txt").write_text("not committed")
    (root / "shared/deniable_shared/left_over.py").write_text("")
    (root / "stray.db").write_text("ignored")
    return root


@pytest.fixture(scope="module")
def released(checkout) -> tuple[Path, str]:
    """The folder that `make dist` makes of the checkout, and what it prints.

    It compares the checkout's builds with those of its sdist under other circumstances.
    """
    printed = succeed(sys.executable, "-m", "tools.release", cwd=checkout)
    return checkout / "dist", printed


def test_a_release_has_the_bytes_of_any_other_build(released, distributions):
    folder, printed = released
    assert "built   twice, the same bytes" in printed
    for other in distributions.iterdir():
        assert (folder / other.name).read_bytes() == other.read_bytes(), other.name


def test_the_sdist_is_what_is_committed_and_nothing_else(released, checkout):
    (sdist,) = released[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    committed = succeed("git", "ls-files", cwd=checkout).splitlines()
    assert sorted(names) == sorted([*committed, "PKG-INFO"])
    assert {"README.md", "tools/release/building.py"} <= set(names)


def test_hashes_are_written_and_printed(released):
    folder, printed = released
    sums = (folder / "SHA256SUMS").read_text()
    assert sums in printed
    for line in sums.splitlines():
        expected, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected
    assert len(sums.splitlines()) == 2


def test_the_digest_is_that_of_the_files_which_the_wheel_installs(released, tmp_path):
    folder, printed = released
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    files = [
        path for name in ("deniable", "deniable_shared") for path in (tmp_path / name).rglob("*")
    ]
    lines = sorted(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(tmp_path)}\n"
        for path in files
        if path.is_file()
    )
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert re.search("(?m)^digest  (.*)$", printed)[1] == digest


def test_the_wheel_has_the_parts_list_where_pep_770_says(wheel):
    name = wheel.name.removesuffix("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = archive.read(f"{name}.dist-info/sboms/deniable.cdx.json")
    assert shipped == (ROOT / "docs/reviewer/deniable.cdx.json").read_bytes()


def test_builds_that_depend_on_the_clock_are_refused(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "clocked.py").write_text("")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "clocked"\nversion = "1"\n'
        "[tool.hatch.build]\nreproducible = false\n"
        '[tool.hatch.build.targets.wheel]\ninclude = ["clocked.py"]\n'
    )
    (tmp_path / "built").mkdir()
    with pytest.raises(DifferentBuildsError, match=r"clocked-1\.tar\.gz differ: the same files"):
        build_twice(source, tmp_path / "built")


def test_what_builds_a_release_is_pinned_by_hash():
    lines = [line for line in PINS.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    pinned = dict(line.partition(" ")[0].split("==") for line in lines)
    system = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    for requirement in map(Requirement, system["requires"]):
        assert pinned[requirement.name] in requirement.specifier
    made = subprocess.run(
        ["make", "-n", "-W", str(PINS.relative_to(ROOT)), "dist"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert f"--require-hashes -r {PINS.relative_to(ROOT)}" in made
    assert "python -m tools.release" in made


def test_the_checklist_names_commands_and_targets_that_exist():
    text = (ROOT / "RELEASING.md").read_text("utf-8")
    commands = [line.split() for line in re.findall(r"(?m)^ +(?:\S*/)?(deniable .*)$", text)]
    assert [words[1] for words in commands] == ["audit", "verify"]
    for words in commands:
        name, rest = find_command(words[1:])
        explained = import_module(COMMANDS[name].target).parser().format_help()
        assert all(word in explained for word in rest if word.startswith("--"))
    words = {word for line in re.findall(r"(?m)^ +make (.*)$", text) for word in line.split()}
    known = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))
    assert words == {"sbom", "check", "test", "PART=all", "dist"} <= known | {"PART=all"}
