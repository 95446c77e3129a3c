"""The script ``deniable``: finds a command in the table, imports it and runs it."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final, NoReturn

from deniable_shared import __version__
from deniable_shared.characters import visible_lines
from deniable_shared.commands.ascii import replace_unprintable
from deniable_shared.commands.help import USAGE, full_help, group_help, short_help
from deniable_shared.commands.mistakes import (
    FAILED,
    INTERRUPTED,
    UsageMistakeError,
    unknown,
)
from deniable_shared.commands.mistakes import (
    USAGE as MISTAKEN,
)
from deniable_shared.commands.table import COMMANDS, find_command, names_after
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMPLETE: Final = "_DENIABLE_COMPLETE"
"""The variable by which shells ask for completion."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_HELP: Final = ("--help", "-h")
_OPTIONS: Final = ("--help", "--version")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits.

    The status is 0, or one of `deniable_shared.commands.mistakes`, or what the command's own help
    says.

    Args:
        arguments: the words after the name of the script; None for those of this process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    status = FAILED
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            replace_unprintable(stream)
    try:
        if instruction := os.environ.get(COMPLETE):
            from deniable_shared.commands.completion import complete

            status = complete(instruction, words)
        else:
            status = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)  # whoever interrupts knows it
    except UsageMistakeError as mistake:
        print(visible_lines(str(mistake)), file=sys.stderr)
        status = MISTAKEN
    except DeniableError as error:
        status = _fail(str(error))
    except OSError as error:
        if _says_that_the_reader_has_gone(error):
            # Python must not try to flush the rest at its end. What a command has found stays its
            # status; if it had no time to find anything, nobody may take that for a success.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(status)
        if error.errno in _FULL and error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(_fail(f"nothing more can be written: {error.strerror}"))
        if error.filename is None:
            raise  # a defect, or the network: not a file that the user named
        status = _fail(f"{error.filename}: {error.strerror}")
    sys.exit(status)


def _says_that_the_reader_has_gone(error: OSError) -> bool:
    """Whether the reader of a pipe has seen enough; Windows calls that an invalid argument."""
    if sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None:
        return True
    return isinstance(error, BrokenPipeError)


def _run(words: list[str]) -> int:
    if not words or words[0] in _HELP:
        print(full_help() if "--all" in words else short_help(), end="")
        return 0 if words else MISTAKEN
    if words == ["--version"]:
        print(f"deniable, version {__version__}")
        return 0
    matched = find_command(words)
    if matched is None:
        return _run_nothing(words)
    name, arguments = matched
    command = COMMANDS[name]
    try:
        if command.needs_extra:
            module, _, attribute = command.target.partition(":")
            run = import_module("deniable_aggregator.doors.cli.running").run
            return int(run(getattr(import_module(module), attribute), arguments, name))
        light_command = import_module(command.target)
        return int(light_command.run(light_command.parser().read(arguments)))
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("deniable"):
            return _fail(
                f"the module {missing.name} is missing: the installation is damaged. Install it "
                "again; docs/reviewer/supply-chain.md says how to find what else differs"
            )
        return _fail(f"deniable {name} needs {missing.name}: pip install 'deniable[aggregator]'")


def _run_nothing(words: list[str]) -> int:
    """Answers words that are no command: by the help of a group, or by an error."""
    group, *options = words
    if names_after([group]):
        if not options or options[0] in _HELP:
            print(group_help(group), end="")
            return 0 if options else MISTAKEN
        known_names, wrong, whole = names_after([group]), options[0], f"deniable {group}"
    else:
        known_names, wrong, whole = names_after([]), group, "deniable"
    kind = "option" if wrong.startswith("-") else "command"
    if kind == "option":
        known_names = list(_OPTIONS if whole == "deniable" else _HELP[:1])
    usage = USAGE if whole == "deniable" else f"Usage: {whole} COMMAND ..."
    raise UsageMistakeError(unknown(kind, wrong, known_names), usage, whole)


def _fail(message: str) -> int:
    print(f"Error: {visible_lines(message)}", file=sys.stderr)
    return FAILED
