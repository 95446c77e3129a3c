"""The files for containers in docs/operations/deploy, which no test here can build or run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from deniable_aggregator.keeping.settings import CONSTRAINTS
from deniable_aggregator.keeping.settings_files import FILE_VARIABLE, PREFIX, load, variable_name
from deniable_shared.commands.table import find_command
from tests.command_line import deniable

TOP = Path(__file__).parents[3]
DEPLOY = TOP / "docs" / "operations" / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]


def instructions():
    """The instructions of the Containerfile, each with what follows it."""
    lines = [line for line in CONTAINERFILE.splitlines() if line and not line.startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines()]


def of(name):
    return [rest for instruction, rest in instructions() if instruction == name]


def commands():
    """Every command line of ours that a container runs."""
    (entry,), (arguments,) = of("ENTRYPOINT"), of("CMD")
    yield json.loads(entry) + json.loads(arguments)
    (health,) = of("HEALTHCHECK")
    yield json.loads(health.partition("CMD ")[2])
    for service in SERVICES.values():
        if service["image"] == "deniable":
            yield ["deniable", *service["command"]]
            yield service["healthcheck"]["test"][1:]


def test_every_setting_that_is_named_exists_and_has_a_value_that_it_may_have():
    (environment,) = of("ENV")
    in_image = dict(pair.split("=", 1) for pair in environment.split())
    known = {FILE_VARIABLE, *map(variable_name, CONSTRAINTS)}
    for variables in (in_image, *(each.get("environment", {}) for each in SERVICES.values())):
        ours = {name: text for name, text in variables.items() if name.startswith(PREFIX)}
        assert set(ours) <= known
        load({}, {name: text for name, text in ours.items() if name != FILE_VARIABLE})
    # What the image sets is not to be hidden from the file of whoever runs it.
    assert "DENIABLE_STORE" not in in_image


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_every_command_that_a_container_runs_is_one(command):
    script, *words = command
    assert script == "deniable"
    name, options = find_command(words)
    told = CliRunner().invoke(deniable, [*name.split(), "--help"]).output
    for option in (word for word in options if word.startswith("--")):
        assert f" {option} " in told


def test_what_the_image_copies_is_in_the_source():
    for rest in of("COPY"):
        *sources, _target = rest.split()
        if not sources[0].startswith("--from"):
            assert all((TOP / source).exists() for source in sources)
    (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", CONTAINERFILE)
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f"\n{extra} = [" in project for extra in extras.split(","))


def test_the_image_runs_without_root_and_has_no_secrets():
    names = [name for name, _ in instructions()]
    assert of("USER") == ["deniable"]
    assert names.index("USER") > max(n for n, name in enumerate(names) if name == "RUN")
    assert not re.search(r"(?i)password|token|secret(?!s in it)", CONTAINERFILE)


@pytest.mark.parametrize("service", list(SERVICES.values()), ids=list(SERVICES))
def test_services_have_read_only_roots_and_no_secrets_in_the_file(service):
    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    for name, text in service.get("environment", {}).items():
        assert "PASSWORD" not in name or name.endswith("_FILE")
        assert "://" not in text


def test_what_services_refer_to_is_defined():
    for service in SERVICES.values():
        assert set(service.get("secrets", ())) <= set(COMPOSE["secrets"])
        assert set(service["networks"]) <= set(COMPOSE["networks"])
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            known = source in COMPOSE["volumes"] or (DEPLOY / source).exists()
            assert known, volume
    build = SERVICES["deniable"]["build"]
    context = (DEPLOY / build["context"]).resolve()
    assert context == TOP
    assert (context / build["dockerfile"]).exists()


def test_only_the_aggregator_reaches_the_database_and_only_the_proxy_the_world():
    beside = {name for name, each in SERVICES.items() if "store" in each["networks"]}
    assert beside == {"deniable", "postgresql"}
    assert COMPOSE["networks"]["store"]["internal"] is True
    assert {name for name, each in SERVICES.items() if "ports" in each} == {"proxy"}
    # The names by which they reach each other are those of services.
    assert SERVICES["proxy"]["environment"]["AGGREGATOR"] == "deniable:8787"
    caddyfile = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    variables = set(re.findall(r"\{\$([A-Z]+):", caddyfile))
    assert variables == set(SERVICES["proxy"]["environment"])
