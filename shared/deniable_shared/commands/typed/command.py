"""The command ``deniable typed``: writes the module, or checks that it is what it would write."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.typed.module import MARK, module_text
from deniable_shared.errors import ParameterError
from deniable_shared.registry import load
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    import argparse

_ABOUT: Final = """\
Writes a Python module by which mypy, pyright and editors know the metrics of
FILE: wrong names and values are errors, right ones are completed, and
descriptions are shown. An application takes the client from it:

    from typed_metrics import Client

When the program runs, this is deniable.Client itself. Keep the module beside
the code, and let the application's CI run the same command with --check.
"""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable typed", _ABOUT, arguments="FILE")
    command_parser.add_argument("file", type=Path, metavar="FILE", help="A registry file.")
    command_parser.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="FILE",
        help="The module. Default: beside the registry, such as typed_metrics.py; - prints it.",
    )
    command_parser.add_argument(
        "--check",
        action="store_true",
        help="Write nothing; exit with status 1 if the module is missing or out of date.",
    )
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        RegistryError: if the registry cannot be read, or has problems.
        ParameterError: if the output is a file that this command has not written.
        OSError: if the module cannot be read or written.
    """
    registry = load(options.file)
    default = options.file.with_name(f"typed_{_identifier(options.file.stem)}.py")
    output = options.output or default
    if str(output) == "-":
        print(module_text(registry, _command(options.file, default)), end="")
        return 0
    text = module_text(registry, _command(options.file, output))
    try:
        present = output.read_text("utf-8")  # whatever the ends of its lines are
    except FileNotFoundError:
        present = None
    except ValueError:
        present = ""  # no UTF-8
    if options.check:
        return _check(options.file, output, text, present)
    if present is not None and not present.startswith(MARK):
        raise ParameterError("--output", "a new file, or one of deniable typed", str(output))
    if present != text:
        with replaced_file(output) as file:
            file.write(text.encode())
    print(
        f"{visible(str(output))} has the metrics of {registry.application}: "
        f"from {output.stem} import Client"
    )
    return 0


def _check(file: Path, output: Path, text: str, present: str | None) -> int:
    if present == text:
        print(f"{visible(str(output))}: as {visible(str(file))} says")
        return 0
    problem = "is missing" if present is None else f"is not what {file} says now"
    command = shlex.join(["deniable", "typed", str(file), "-o", str(output)])
    print(f"Error: {visible(f'{output} {problem}: run {command}')}", file=sys.stderr)
    return 1


def _identifier(stem: str) -> str:
    """A part of a module's name, from that of the registry file."""
    return re.sub(r"\W", "_", stem)


def _command(file: Path, output: Path) -> str:
    """How to make the module again, from its own folder: the same wherever that folder is."""
    try:
        path = os.path.relpath(file, output.parent)
    except ValueError:  # on another drive
        path = str(file)
    return shlex.join(["deniable", "typed", Path(path).as_posix(), "-o", output.name])
