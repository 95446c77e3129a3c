"""What comes with Deniable: the table of dependencies and the parts list say what is declared."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deniable_shared.installed import package_folder
from tools import sbom

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
"""Requirements by extra."""

TABLES = (ROOT / "docs/reviewer/supply-chain.md").read_text("utf-8").partition("## Dependencies")[2]
LICENCES_BY_CLASSIFIER = {
    "License :: OSI Approved :: BSD License": {"BSD-2-Clause", "BSD-3-Clause"},
    "License :: OSI Approved :: MIT License": {"MIT"},
    "License :: OSI Approved :: Apache Software License": {"Apache-2.0"},
    "License :: OSI Approved :: GNU General Public License v2 (GPLv2)": {
        "GPL-2.0-or-later WITH Bootloader-exception"
    },
}
DATA = {".txt", ".model", ".ttf"}
LICENCE_FILES = {"LICENSES.txt", "OFL.txt"}
CODE = {".py", ".jinja", ".css", ".js", ".svg", ".typed", ".pyc", ".pyi"}
OPENS = (
    "socket",
    "connect",
    "getaddrinfo",
    "open",
    "open64",
    "fopen",
    "fopen64",
    "openat",
    "dlopen",
)
STARTS = ("system", "execve", "execv", "fork", "posix_spawn", "syscall")


def declared(extras) -> dict[str, set[str]]:
    """Names of the packages that extras ask for, and the extras that ask for each."""
    found: dict[str, set[str]] = {}
    for extra in extras:
        for text in DECLARED[extra]:
            name = canonicalize_name(Requirement(text).name)
            if name != "deniable":
                found.setdefault(name, set()).add(extra)
    return found


def rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table, by the name in its first column."""
    section = TABLES.partition(heading)[2].partition("\n#")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in line] for line in lines[2:]]
    assert len({row[0] for row in cells}) == len(cells)
    return {row[0]: row[1:] for row in cells}


INSTALLED = rows("### On a device")


def test_the_table_has_every_dependency_with_its_extras_and_no_other():
    used = declared(set(DECLARED) - set(sbom.NOT_INSTALLED))
    assert {name: {*row[0].split(", ")} for name, row in INSTALLED.items()} == used


def test_an_upper_bound_has_its_reason():
    for extra in set(DECLARED) - set(sbom.NOT_INSTALLED):
        for text in DECLARED[extra]:
            requirement = Requirement(text)
            if "<" in text and requirement.name != "deniable":
                bounds = text.partition("]")[2] or text.removeprefix(requirement.name)
                assert f"`{bounds}`: " in INSTALLED[requirement.name][-1], text


def test_every_dependency_has_its_reasons():
    assert [name for name, row in INSTALLED.items() if not all(row[1:])] == []


def test_what_only_tests_need_has_its_reason_where_it_is_declared():
    lines = (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
    for extra in sbom.NOT_INSTALLED:
        for requirement in DECLARED[extra]:
            reason = re.compile(rf'^    "{re.escape(requirement)}", +# \S')
            assert requirement.startswith("deniable[") or any(map(reason.match, lines)), requirement


@pytest.mark.parametrize("name", INSTALLED)
def test_the_licence_is_the_one_that_the_package_states(name):
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    licence = INSTALLED[name][1]
    # Not by [], which raises KeyError where importlib_metadata has taken the place of the
    # standard library's module, as it does once dask has been imported.
    expression = stated.get("License-Expression")
    classifiers = stated.get_all("Classifier") or []
    allowed = {
        each for line in classifiers for each in LICENCES_BY_CLASSIFIER.get(line, ())
    } or set(re.findall(r"BSD-[23]-Clause|MIT|Apache-2.0", stated.get("License", "")))
    if expression is not None:
        # A wheel that holds other people's libraries names their licences as well.
        assert licence in (expression, expression.partition(" AND ")[0])
    elif allowed:
        assert set(licence.split(" OR ")) <= allowed


@pytest.mark.parametrize("name", INSTALLED)
def test_what_is_compiled_is_said_to_be(name):
    try:
        files = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        pytest.skip("not installed")
    compiled = any(file.suffix in (".so", ".pyd", ".dylib") for file in files)
    # Some have compiled parts on some systems alone.
    assert INSTALLED[name][2] == "compiled" or not compiled


@pytest.mark.parametrize("name", sorted(declared([""])))
def test_the_compiled_code_on_a_device_opens_no_file_and_no_connection(name):
    """Functions of the C library stand by their names in a library that takes them."""
    libraries = [file for file in metadata.files(name) if file.suffix == ".so"]
    if not libraries:
        pytest.skip("no library of Linux or macOS")
    for library in libraries:
        taken = set(library.locate().read_bytes().split(b"\0"))
        assert b"PyModule_Create2" in taken or b"PyModuleDef_Init" in taken
        assert not {word.encode() for word in (*OPENS, *STARTS)} & taken


@pytest.fixture(scope="module")
def parts():
    return json.loads(sbom.OUTPUT.read_text("utf-8"))


def test_the_parts_list_is_what_its_program_writes():
    assert sbom.OUTPUT.read_text("utf-8") == sbom.parts_list(), "make sbom writes it"


def test_the_parts_list_is_valid_cyclonedx(parts):
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(parts)) is None
    parts = json.loads(json.dumps(parts))
    parts["components"][0]["licenses"][0]["license"]["id"] = "no such licence"
    assert validator.validate_str(json.dumps(parts)) is not None


def test_the_parts_list_names_what_an_installation_is_asked_to_bring(parts):
    listed = {
        part["name"]: {
            (each["name"].removeprefix("deniable:requires").strip(":"), each["value"])
            for each in part["properties"]
        }
        for part in parts["components"]
    }
    asked: dict[str, set[tuple[str, str]]] = {}
    for extra in set(DECLARED) - set(sbom.NOT_INSTALLED):
        for requirement in map(Requirement, DECLARED[extra]):
            if requirement.name != "deniable":
                brackets = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
                (text,) = {text for text in DECLARED[extra] if Requirement(text) == requirement}
                versions = text.removeprefix(requirement.name + brackets)
                asked.setdefault(requirement.name, set()).add((extra, brackets + versions))
    assert listed == asked
    required = {part["name"] for part in parts["components"] if part["scope"] == "required"}
    assert required == set(declared([""])) == {"mmh3", "msgpack"}
    assert {part["name"]: part["licenses"] for part in parts["components"]}["mmh3"] == [
        {"license": {"id": INSTALLED["mmh3"][1]}}
    ]


def test_the_parts_list_has_all_data_that_is_shipped_with_its_licences(parts):
    shipped = set()
    for package in ("deniable", "deniable_aggregator", "deniable_analysis", "deniable_shared"):
        folder = Path(str(package_folder(package)))
        files = {path for path in folder.rglob("*") if path.is_file()}
        assert {path.suffix for path in files} <= DATA | CODE
        shipped |= {path.relative_to(folder.parent) for path in files if path.suffix in DATA}
    listed = {part["name"]: part for part in parts["metadata"]["component"]["components"]}
    assert {str(path) for path in shipped if path.name not in LICENCE_FILES} == set(listed)
    words = (ROOT / "aggregator/deniable_aggregator/answers/lists/LICENSES.txt").read_text("utf-8")
    for path, part in listed.items():
        sources = part.get("pedigree", {"ancestors": []})["ancestors"]
        if path.startswith("deniable_aggregator/answers/lists/"):
            (about,) = [
                each for each in words.split("\n\n") if Path(path).name in each.split("\n")[0]
            ]
            licence = part["licenses"][0]
            names = licence.get("expression") or licence["license"]["id"]
            assert all(name in about for name in names.split(" AND "))
            assert all(source["hashes"][0]["content"] in about for source in sources)
            assert len(re.findall("SHA-256", about)) == len(sources)
        elif path.endswith(".ttf"):
            about = (ROOT / "aggregator" / path).with_name("OFL.txt").read_text("utf-8")
            (source,) = sources
            assert part["licenses"] == [{"license": {"id": "OFL-1.1"}}]
            assert Path(path).name in about
            assert source["hashes"][0]["content"] in about
        else:
            assert len(sources) == 8
