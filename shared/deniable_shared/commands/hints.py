"""``deniable hints``: the names that sources say will be recorded, as hints of a discovery."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible
from deniable_shared.commands.ascii import printable
from deniable_shared.commands.mistakes import FileProblemError, read_file
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import wrapped
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import normalize
from deniable_shared.public_text import longest_texts, private_shapes
from deniable_shared.replaced_file import replaced_file
from deniable_shared.source_names import KINDS, SourceNames
from deniable_shared.value_lists import read_list

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

MOST_HINTS: Final = 200_000
"""So many a question may have."""
LONGEST_HINT: Final = 256
"""In characters: no longer string is found."""
MOST_NAMED: Final = 5
"""Of the files that are left out."""

_ABOUT: Final = """\
Collects the names that a metric will record from the sources of an application,
as hints for deniable discover.

A string that is named beforehand is found at a smaller share: it need not stand
out among all strings that there can be. Nothing changes on devices. Hints that
nobody records cost next to nothing, and half of the false finds that are
allowed are those of other strings.

SOURCES are Python files, and folders of them, which are read and never run; any
other file has a name a line. Of Python come

  routes    of Flask, Django and FastAPI
  names     of classes and functions: shop.orders.Order.total
  errors    where they are raised, as in a crash signature:
            ValueError at shop.orders.Order.total
  messages  that errors are raised with, if they are a literal text

Names that are put together when the program runs are counted and left out, and
so are files of folders that are not Python. Take the kinds that the metric
records. Whoever may ask the server sees them: read what is printed, and keep
what is secret out.

  deniable hints src/ --kind errors --out names.txt
  deniable discover crash --hints names.txt --token TOKEN
"""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable hints", _ABOUT, arguments="SOURCES...")
    command_parser.add_argument(
        "sources", type=Path, nargs="+", metavar="SOURCES",
        help="Python files or folders of them, or files with a name a line.",
    )  # fmt: skip
    command_parser.add_argument("--out", type=Path, required=True, metavar="PATH",
                      help="Where the names are written, one a line.")  # fmt: skip
    command_parser.add_argument("--kind", action="append", choices=KINDS, metavar="KIND",
                      help=f"Of Python sources: {', '.join(KINDS)}. May come several times; left "
                      "out for all.")  # fmt: skip
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        ParameterError: if a source cannot be understood, or none or too many names are found.
        FileProblemError: if one cannot be read.
    """
    kinds = tuple(dict.fromkeys(options.kind or KINDS))
    sources, listed = SourceNames(), dict[str, None]()
    for source in options.sources:
        if source.is_dir() or source.suffix == ".py":
            try:
                sources.read(source)
            except OSError as error:
                raise FileProblemError(source, f"cannot be read: {error.strerror}") from None
        else:
            listed |= dict.fromkeys(_listed(source))
    counts = {kind: len(sources.found[kind]) for kind in kinds}
    every = dict.fromkeys(name for kind in kinds for name in sources.found[kind])
    names, unusable = _usable((every | listed).keys())
    if not 1 <= len(names) <= MOST_HINTS:
        raise ParameterError("names of SOURCES", f"1 to {MOST_HINTS:,} different ones", len(names))
    with replaced_file(options.out) as file:
        file.write("".join(f"{name}\n" for name in names).encode())
    answer = {
        "names": len(names),
        "of_sources": counts,
        "of_lists": len(listed),
        "put_together": sources.built,
        "unusable": unusable,
        "unread": sources.unread,
        "file": str(options.out),
        "warnings": list(private_shapes(names)),
        "longest": longest_texts(names),
    }
    print(json.dumps(answer, indent=2) if options.json else "\n".join(_text(answer)))
    return 0


def _listed(source: Path) -> tuple[str, ...]:
    try:
        return read_list(read_file(source))
    except ParameterError as error:
        raise ParameterError(str(source), error.constraint, error.value) from None


def _usable(names: Iterable[str]) -> tuple[list[str], int]:
    """The names that can be hints, and how many cannot: too long ones, or of several lines."""
    composed = [normalize(name) for name in names]
    usable = [
        name
        for name in dict.fromkeys(composed)
        if len(name) <= LONGEST_HINT and len(name.splitlines()) == 1
    ]
    return usable, len(composed) - len(usable)


def _text(answer: dict[str, object]) -> list[str]:
    counts, longest, warnings = answer["of_sources"], answer["longest"], answer["warnings"]
    assert isinstance(counts, dict)
    assert isinstance(longest, list)
    assert isinstance(warnings, list)
    unread = answer["unread"]
    assert isinstance(unread, list)
    lines = [f"{answer['names']:,} different names, in {answer['file']}:"]
    lines += [f"  {count:>7,}  {kind}" for kind, count in counts.items() if count]
    if answer["of_lists"]:
        lines.append(f"  {answer['of_lists']:>7,}  of lists")
    if answer["put_together"]:
        left_out = "routes and messages left out that are put together when the program runs"
        lines.append(f"  {answer['put_together']:>7,}  {left_out}")
    if answer["unusable"]:
        lines.append(
            f"  {answer['unusable']:>7,}  left out: too long to be found, or of several lines"
        )
    if unread:
        some = [*unread[:MOST_NAMED], *(["..."] if unread[MOST_NAMED:] else [])]
        lines.append(f"  {len(unread):>7,}  files left out that are not Python:")
        lines += [f"           {printable(visible(place))}" for place in some]
    lines += ["", "The longest, to be read before anybody else does:"]
    lines += [f"  {printable(visible(name))}" for name in longest]
    for warning in warnings:
        lines += ["", *wrapped([f"Warning: {warning}"])]
    return [
        *lines,
        "",
        *wrapped(
            [
                "Whoever may ask the server sees hints. Give them to deniable discover --hints, or "
                "keep them for all analysts with deniable lists --save."
            ]
        ),
    ]
