"""The command ``deniable verify``: compares, and says what that proves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import visible
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import labelled_lines, wrapped
from deniable_shared.commands.verify.bytecode import foreign_bytecode
from deniable_shared.commands.verify.certificate import certified_files
from deniable_shared.commands.verify.comparison import Comparison, compare
from deniable_shared.commands.verify.record import NoRecord, compared_with_record, import_folders
from deniable_shared.installed import DEVICE_PACKAGES, InstalledFiles, installed_files

if TYPE_CHECKING:
    import argparse


_ABOUT: Final = """\
Compares the installed files with RECORD, the list of hashes that came with the
wheel, and with those that a certificate covers. It needs no network. It names
the files that were changed, are missing or were added.

It prints a digest of the files that run on a device, short enough to be read
out: the same 16 digits on two machines mean the same files, except for
somebody who can try about 2^64 variants. --json has all 64 digits.

The exit status is 0 if something was compared and nothing differs, and else 1.
An editable install has no RECORD of its files: it needs a certificate.

    deniable verify
    deniable verify --certificate certificate.json
"""

_LIMITS: Final = (
    "RECORD is on the same disk, so anybody who can change a file can change RECORD too. Compare "
    "with a certificate you trust, or with the digest that the authors published. This does not "
    "check Python, mmh3, msgpack, or a program that changes Deniable while it runs."
)
_MOST_NAMES: Final = 20
"""How many files of a kind are named before the rest is counted."""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable verify", _ABOUT)
    command_parser.add_argument(
        "--certificate",
        metavar="FILE",
        type=Path,
        help="A certificate that deniable audit wrote.",
    )
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        ParameterError: if the certificate is none, or there are no files to compare.
        OSError: if a file cannot be read.
    """
    installed = installed_files()
    recorded = compared_with_record()
    certificate = None if options.certificate is None else certified_files(options.certificate)
    certified = None if certificate is None else compare(certificate.files, installed.files)
    version = None if certificate is None else certificate.version
    bytecode = foreign_bytecode(DEVICE_PACKAGES)
    compared = [
        comparison for comparison in (recorded, certified) if isinstance(comparison, Comparison)
    ]
    same = bool(compared) and all(comparison.is_same for comparison in compared) and not bytecode
    if options.json:
        answer = _as_json(installed, recorded, certified, bytecode, version, same=same)
        print(json.dumps(answer, indent=2))
    else:
        print(_text(installed, recorded, certified, bytecode, version))
    return 0 if same else 1


def _as_json(
    installed: InstalledFiles,
    recorded: Comparison | NoRecord,
    certified: Comparison | None,
    bytecode: list[str],
    certified_version: str | None,
    *,
    same: bool,
) -> dict[str, Any]:
    """What is printed for programs."""
    return {
        "version": installed.version,
        "folder": import_folders(),
        "files": len(installed.files),
        "digest": installed.digest,
        "record": _comparison_as_json(recorded),
        "certificate": None if certified is None else _comparison_as_json(certified),
        "foreign_bytecode": bytecode,
        "same": same,
        "certified_version": certified_version,
    }


def _comparison_as_json(comparison: Comparison | NoRecord) -> dict[str, Any]:
    if isinstance(comparison, NoRecord):
        return {"compared": 0, "reason": comparison.reason}
    return {
        "compared": comparison.compared,
        "changed": list(comparison.changed),
        "missing": list(comparison.missing),
        "added": list(comparison.added),
    }


def _text(
    installed: InstalledFiles,
    recorded: Comparison | NoRecord,
    certified: Comparison | None,
    bytecode: list[str],
    certified_version: str | None,
) -> str:
    """What is printed for people."""
    rows = [
        ("files", f"{len(installed.files):,} that run on a device, of {visible(import_folders())}")
    ]
    digest = f"{installed.digest_to_read_out} (the first 16 of 64 digits; --json has all)"
    rows.append(("digest", digest))
    if isinstance(recorded, NoRecord):
        rows.append(("RECORD", f"nothing to compare with: {visible(recorded.reason)}"))
    else:
        rows += [("RECORD", line) for line in _differences(recorded)]
    if certified_version is not None and certified_version != installed.version:
        sentence = f"of deniable {visible(certified_version)}, and {installed.version} is installed"
        rows.append(("certificate", sentence))
    if certified is not None:
        rows += [("certificate", line) for line in _differences(certified)]
    rows += [("bytecode", line) for line in _bytecode_lines(bytecode)]
    blocks = [f"deniable {installed.version}", *labelled_lines(rows), "", *wrapped([_LIMITS])]
    return "\n".join(blocks)


def _differences(comparison: Comparison) -> list[str]:
    if comparison.is_same:
        return [f"all {comparison.compared:,} files are the same, and no other was added"]
    kinds = {
        "changed": comparison.changed,
        "missing": comparison.missing,
        "added": comparison.added,
    }
    return [line for kind, paths in kinds.items() for line in _named(kind, paths)]


def _bytecode_lines(bytecode: list[str]) -> list[str]:
    if not bytecode:
        return ["the compiled files in __pycache__ match their sources"]
    return _named("does not match its source, but Python would run it:", bytecode)


def _named(kind: str, paths: list[str] | tuple[str, ...]) -> list[str]:
    lines = [f"{kind} {visible(path)}" for path in paths[:_MOST_NAMES]]
    more = len(paths) - len(lines)
    return [*lines, f"{kind} {more:,} more (--json has all)"] if more else lines
