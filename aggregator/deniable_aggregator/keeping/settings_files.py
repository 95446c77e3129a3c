"""Reads the settings of a server from options, the environment and a file.

An option comes before the environment, and that before the file. All problems are reported at once,
each with the place that the value comes from, and without passwords.
"""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.keeping.settings import (
    CONSTRAINTS,
    DEFAULTS,
    KINDS,
    Settings,
    invalid_settings,
    redacted,
)
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PREFIX: Final = "DENIABLE_"
DEFAULT: Final = "default"
FILE_VARIABLE: Final = f"{PREFIX}CONFIG"
NAME_SIMILARITY: Final = 0.6
"""How similar a wrong name in a file must be to a setting's, 0 to 1, for "did you mean"."""

VARIABLE_SIMILARITY: Final = 0.8
"""The same for a variable. A less similar one may belong to another program, and is ignored."""

_RESERVED: Final = frozenset({"config", "development", "endpoint", "key", "server", "token"})
"""Names of variables that are no settings: other options, the file's, and those of clients."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_EXAMPLE_COLUMNS: Final = 100


class ConfigurationError(DeniableError):
    """Settings break their constraints, are unknown, or cannot be read.

    Attributes:
        problems: a sentence for each, with setting, constraint, value and where it comes from.
        typed: whether all of them are mistakes of a command line.
    """

    def __init__(self, problems: Sequence[str], *, typed: bool = False) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.typed = typed


@dataclass(frozen=True)
class Configuration:
    """Settings, and where each comes from.

    Attributes:
        settings: those that apply.
        origins: by setting: an option, a variable, a file, or "default".
    """

    settings: Settings
    origins: Mapping[str, str]


def load(
    options: Mapping[str, str],
    environ: Mapping[str, str],
    file: Path | None = None,
    *,
    required: Sequence[str] = (),
) -> Configuration:
    """Reads and checks all settings.

    Args:
        options: the options that were given, as text, by the name of the setting.
        environ: the environment. An empty variable counts as absent.
        file: a TOML file, or None.
        required: settings without a default that the caller needs.

    Raises:
        ConfigurationError: with all problems.
    """
    problems: list[str] = []
    values: dict[str, Any] = dict(DEFAULTS)
    origins = dict.fromkeys(DEFAULTS, DEFAULT)
    for values_of_source, origin_of in (
        ({} if file is None else _from_file(file, problems), lambda _: str(file)),
        (_from_environment(environ, problems), variable_name),
        ({name: _parse_text(name, text) for name, text in options.items()}, option_name),
    ):
        for name, value in values_of_source.items():
            values[name], origins[name] = value, origin_of(name)
    typed = not problems
    for name, constraint in invalid_settings(values):
        typed = typed and origins[name] == option_name(name)
        value_in_words = f"got {redacted(name, values[name])!r} ({origins[name]})"
        problems.append(f"{name} must be {constraint}, {value_in_words}")
    problems += [must_be_set(name) for name in required if values[name] == ""]
    if problems:
        raise ConfigurationError(problems, typed=typed)
    return Configuration(Settings(**values), origins)


def must_be_set(name: str) -> str:
    """A setting without a default is missing."""
    return f"{name} must be set: by {option_name(name)}, {variable_name(name)} or a file"


def option_name(name: str) -> str:
    """A setting's name on the command line."""
    return f"--{name.replace('_', '-')}"


def variable_name(name: str) -> str:
    """A setting's name in the environment."""
    return f"{PREFIX}{name.upper()}"


def example_file() -> str:
    """A settings file with every default, commented out, and what it means."""
    lines = [
        "# Settings of the aggregator, for deniable serve --config FILE. This file was printed by",
        "# deniable config example; every setting is commented out and shows its default.",
        "# Options come before the environment, the environment before this file.",
    ]
    for group, constraints in groupby(CONSTRAINTS.items(), lambda item: item[1].group):
        lines += ["", f"# == {group} =="]
        for name, constraint in constraints:
            about = f"{constraint.meaning} {_sentence(constraint.in_words(KINDS[name]))}"
            lines += ["", *textwrap.wrap(about, _EXAMPLE_COLUMNS - 2, **_COMMENT)]
            lines += [
                f"# {option_name(name)}, {variable_name(name)}",
                f"#{name} = {_toml(DEFAULTS[name])}",
            ]
    return "\n".join([*lines, ""])


_COMMENT: Final[dict[str, Any]] = {"initial_indent": "# ", "subsequent_indent": "# "}


def _from_file(file: Path, problems: list[str]) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        problems.append(f"{file}: cannot be read: {error.strerror}")
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        why = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        problems.append(f"{file}: must be a TOML file: {why}")
        return {}
    problems += [
        f"{name} is not a setting{_suggestion(name, NAME_SIMILARITY)} ({file})"
        for name in document
        if name not in CONSTRAINTS
    ]
    return {name: document[name] for name in CONSTRAINTS if name in document}


def _from_environment(environ: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for full, text in sorted(environ.items()):
        name = full.removeprefix(PREFIX).lower()
        if not full.startswith(PREFIX) or not text or name in _RESERVED:
            continue
        if full == variable_name(name) and name in CONSTRAINTS:
            values[name] = _parse_text(name, text)
        # Other programs may have variables that begin so: only likely misspellings are refused.
        elif suggestion := _suggestion(name, VARIABLE_SIMILARITY):
            problems.append(f"{full} is not the name of a setting{suggestion}")
    return values


def _suggestion(name: str, cutoff: float) -> str:
    near = get_close_matches(name.lower().replace("-", "_"), CONSTRAINTS, n=1, cutoff=cutoff)
    return f": did you mean {near[0]}?" if near else ""


def _parse_text(name: str, text: str) -> Any:
    """Text as a value of the setting's type; or unchanged, which the check then refuses."""
    kind = KINDS[name]
    if kind is str:
        return text
    if _INTEGER.fullmatch(text.strip()):
        return int(text)
    try:
        return float(text) if kind is float else text
    except ValueError:
        return text


def _sentence(constraint: str) -> str:
    return f"{constraint[0].upper()}{constraint[1:]}."


def _toml(value: object) -> str:
    return f"{value:_}" if isinstance(value, int) else json.dumps(value)


def setting_rows(configuration: Configuration) -> Iterator[tuple[str, object, str]]:
    """Each setting: its name, its value without secrets, and where it comes from."""
    for name, origin in configuration.origins.items():
        yield name, redacted(name, getattr(configuration.settings, name)), origin
