"""``deniable show``: prints what this device has said to an application."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable._default_directory import applications_with_directories, default_directory
from deniable._disclosure.disclosure import (
    NO_DIRECTORY,
    NOTHING,
    DisclosedReport,
    Disclosure,
    disclosure,
)
from deniable._disclosure.summary import answered
from deniable_shared.characters import visible
from deniable_shared.commands.parser import Parser
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_WIDTH: Final = 100
MIN_WIDTH: Final = 60
_BAR: Final = 20
_BLOCKS: Final = "█", "░"
_PLAIN_BLOCKS: Final = "#", "."
_STATES: Final = {True: "waiting", False: "sent"}

_ABOUT: Final = """\
Shows what this device has said to an application that uses Deniable: every
answer of the last 30 days, in words, and what it has cost in privacy so far.
Nothing is changed, and nothing is sent.
"""
_EXPLAINED: Final = """\
How to read it:
  An application asks for small facts, such as the colour theme in use. Before
  an answer is written down or sent, this device throws dice over it. So each
  answer here may be true or not, and two probabilities stand beside it: how
  likely the device was to say this if it is true, and how likely if it is not.
  The closer the two are, the less the answer gives away. The true value itself
  is never written down.

  waiting   still on this device; it will be sent at a random time
  sent      the application's server has it

  Some answers are drawn once and used again as long as nothing changes. Once
  such an answer is sent, it is not kept; what it can have revealed stands in
  its place. While it waits, whoever copies this directory can often work out
  the true value from it.

  The bars show how much of its budget of privacy the device has spent, in the
  unit that the experts call epsilon. When a day's budget is used up, the device
  says nothing on that day that would cost more; when that of its life is used
  up, never again. Some answers also have a delta. The sum shown is how much
  probability may exceed what epsilon allows.

Examples:
  deniable show
  deniable show --application flightdeck
  deniable show --directory /var/lib/flightdeck/telemetry
"""
_WHERE: Final = (
    "The directory is the one that the application keeps for its answers; its documentation, or "
    "the page of its settings about telemetry, should name it."
)
_WHY_NOTHING: Final = (
    "Either it is not the directory that the application uses, or you never agreed that the "
    "application may ask."
)


def parser() -> Parser:
    """The options of the command."""
    made = Parser(
        "deniable show",
        f"{_ABOUT}\n{_EXPLAINED}",
        arguments="[--application NAME | --directory DIR]",
    )
    made.add_argument(
        "--application",
        dest="directory",
        type=_directory_of,
        metavar="NAME",
        help="Which application, if it keeps its answers where Deniable suggests. Default: the "
        "only one that does.",
    )
    made.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="Where the application keeps its answers until they are sent.",
    )
    made.add_argument("--json", action="store_true", help="Print the same as JSON, for programs.")
    return made


def run(options: argparse.Namespace) -> int:
    """Runs the command.

    Returns:
        The exit status: 0, or 1 if there is nothing to show or something could not be read.
    """
    if options.directory is None:
        options.directory = _only_directory()
    shown = disclosure(options.directory)
    if shown.problem in (NO_DIRECTORY, NOTHING) and not options.json:
        hint = _WHERE if shown.problem == NO_DIRECTORY else _WHY_NOTHING
        if shown.consent is not None:
            hint = answered(shown.consent)
        lines = [f"Error: {options.directory}: {shown.problem}.", *textwrap.wrap(hint, 80)]
        print(*map(_printable, lines), sep="\n", file=sys.stderr)
        return 1
    print(_as_json(shown) if options.json else "\n".join(_page(shown)))
    return 0 if shown.problem is None else 1


def _directory_of(application: str) -> Path:
    try:
        return default_directory(application)
    except ParameterError as error:
        problem = str(error)
    raise argparse.ArgumentTypeError(problem)


def _only_directory() -> Path:
    """The directory of the only application that keeps its answers where Deniable suggests."""
    names = applications_with_directories()
    if len(names) != 1:
        hint = f" Applications that keep their answers where Deniable suggests: {', '.join(names)}."
        hint = _printable(hint) * bool(names)
        parser().error(f"--application or --directory is missing.{hint}")
    return default_directory(names[0])


def _as_json(shown: Disclosure) -> str:
    return json.dumps(asdict(shown), indent=2, default=str)  # str is for days: 2026-11-20


def _page(shown: Disclosure) -> Iterator[str]:
    width = min(MAX_WIDTH, max(MIN_WIDTH, shutil.get_terminal_size().columns))
    title = f"What this device has said to {shown.application or 'the application'}"
    yield _printable(title)
    yield "=" * len(title)
    yield from textwrap.wrap(_printable(shown.sentence), width)
    yield from _spent(shown)
    names = max((len(said.metric) for said in shown.reports), default=0)
    for day, reports in groupby(shown.reports, key=lambda said: said.day):
        yield ""
        yield f"{day:%A}, {day.day} {day:%B %Y}"
        for said in reports:
            yield from _line(said, min(names, 24), width)
    if shown.reports:
        yield ""
        yield "deniable show --help explains how to read this."


def _spent(shown: Disclosure) -> Iterator[str]:
    if shown.epsilon_today is None or shown.epsilon_lifetime is None:
        return
    yield ""
    yield "Privacy spent (epsilon)"
    yield _bar("today", shown.epsilon_today, shown.limit_per_day)
    yield _bar("for life", shown.epsilon_lifetime, shown.limit_lifetime)
    if shown.delta_lifetime:
        yield f"  {'delta':<10}{shown.delta_lifetime:.3g}"


def _bar(label: str, spent: float, limit: float | None) -> str:
    if limit is None or not limit > 0:
        return f"  {label:<10}{spent:.2f}"
    full, empty = _PLAIN_BLOCKS
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    if "".join(_BLOCKS).encode(encoding, "ignore").decode(encoding) == "".join(_BLOCKS):
        full, empty = _BLOCKS
    part = min(spent / limit, 1.0)
    filled = -int(-part * _BAR // 1)
    return f"  {label:<10}{full * filled}{empty * (_BAR - filled)}  {spent:.2f} of {limit:g}"


def _line(said: DisclosedReport, names: int, width: int) -> list[str]:
    start = f"  {said.metric or '?':<{names}}  {_STATES[said.pending]:<7}  "
    if len(start) > width // 2:
        return [start.rstrip(), *_wrapped(said.sentence, "      ", "      ", width)]
    return _wrapped(said.sentence, start, " " * len(start), width)


def _wrapped(text: str, first: str, later: str, width: int) -> list[str]:
    return textwrap.wrap(_printable(text), width, initial_indent=first, subsequent_indent=later)


def _printable(text: str) -> str:
    """The text with control characters escaped, and without what the output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    return visible(text).encode(encoding, "replace").decode(encoding)
