"""``deniable init``: writes a registry file to begin with."""

from __future__ import annotations

import argparse
import re
import shlex
import tomllib
import unicodedata
from pathlib import Path
from typing import Final

from deniable_shared.characters import NAME
from deniable_shared.commands.first_registry import registry_text
from deniable_shared.commands.mistakes import shortened
from deniable_shared.commands.parser import Parser
from deniable_shared.errors import DeniableError

DEFAULT_FILE: Final = Path("metrics.toml")
MAX_NAME: Final = 64
_NAMELESS: Final = "my_app"
"""Where neither a project nor a folder has a name with letters."""

_ABOUT: Final = """\
Writes a registry file to begin with: what the application collects, with a
comment for every choice. It is short, and `deniable check` accepts it.
A file that is there already is left as it is.
"""


class FileExistsAlreadyError(DeniableError):
    """There is a file where the new one should go."""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable init", _ABOUT, arguments="[FILE]")
    command_parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=DEFAULT_FILE,
        metavar="FILE",
        help=f"The file to write. Default: {DEFAULT_FILE}",
    )
    command_parser.add_argument(
        "--application",
        type=_valid_name,
        metavar="NAME",
        help="The application's name, which stays the same for ever: small letters, digits and _. "
        "Default: that of the project in pyproject.toml, or of the folder.",
    )
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        FileExistsAlreadyError: if there is a file already.
        OSError: if it cannot be written.
    """
    file, application = options.file, options.application
    if application is None:
        application = find_application(file.absolute().parent)
    try:
        with file.open("x", encoding="utf-8", newline="\n") as new:
            new.write(registry_text(application))
    except FileExistsError:
        raise FileExistsAlreadyError(
            f"{file} is there already and stays as it is: name another file, as in "
            "deniable init other.toml"
        ) from None
    quoted = shlex.quote(str(file))
    print(f"wrote {file}, of the application {application}. What comes next:\n")
    print(f"  deniable check {quoted}   what it gives away")
    print(f"  deniable plan {quoted}            how many devices it takes to see something")
    print(
        f"  deniable try {quoted}             records each metric once, and shows what would leave"
    )
    return 0


def _valid_name(text: str) -> str:
    if re.fullmatch(NAME, text) is None:
        raise argparse.ArgumentTypeError(f"must be a name matching {NAME}, got {shortened(text)}")
    return text


def find_application(folder: Path) -> str:
    """A name for the application in a folder: its project's, or else the folder's.

    Args:
        folder: absolute; a pyproject.toml is looked for in it, and then above it.
    """
    for place in (folder, *folder.parents):
        try:
            project = tomllib.loads((place / "pyproject.toml").read_text("utf-8"))["project"]
            return made_valid(project["name"])
        except (OSError, ValueError, LookupError, TypeError):
            continue  # no such file, or it names no project
    return made_valid(folder.name)


def made_valid(name: str) -> str:
    """The nearest name that an application can have: "Flight-Deck" becomes "flight_deck"."""
    plain = "".join(
        character for character in unicodedata.normalize("NFKD", name) if character.isascii()
    )
    words = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if not re.search("[a-z]", words):
        return _NAMELESS
    if not words[0].isalpha():
        words = f"app_{words}"
    return words[:MAX_NAME].rstrip("_")
