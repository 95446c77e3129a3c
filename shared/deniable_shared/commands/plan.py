"""``deniable plan``: what a metric will show, before anything ships."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared.commands.parser import Parser, integer_in, number, number_in
from deniable_shared.commands.plan_text import plan_plot, plan_text
from deniable_shared.errors import DeniableError
from deniable_shared.fields import MAX_VALUES
from deniable_shared.periods import EVERY
from deniable_shared.planning.plan import DEFAULT_DAYS, plan
from deniable_shared.registry import (
    DEFAULT_DEVICES,
    MAX_DEVICES,
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    load,
    parse,
)
from deniable_shared.registry.discovery import MAX_LONGEST
from deniable_shared.spec import TYPES, TYPES_WITH_RANGE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from deniable_shared.planning.result import Plan
    from deniable_shared.registry import Registry

NAME: Final = "planned"
"""The name of a metric that options describe."""

MAX_CANDIDATES: Final = 10**12
MAX_DAYS: Final = 36_525
MAX_TEXTS: Final = 10_000
WIDTHS: Final = (1e-100, 1e100)
"""The least and the largest --width: between them no figure overflows."""

_ABOUT: Final = """\
Says what the metrics of FILE will show, or one metric given by options.

For each: the mechanism and why; the size of a report; how wide intervals will
be; which shares will be detected; and what reporting again and again costs. A
metric that cannot even detect a value that 10% of the devices have is refused,
with the nearest setting that can; the exit status is then 1.

    deniable plan metrics.toml
    deniable plan --type category --values 50 --epsilon 1 --devices 100000
    deniable plan --type string --epsilon 2 --devices 1000000 --width 0.001
    deniable plan --type number --range 0 30 --epsilon 1 --devices 20000

Of a metric that discovers strings which nobody listed it says how many devices
find some examples, or strings of your own:

    deniable plan metrics.toml --example flatpak --example 日本語
    deniable plan --type string --discover --epsilon 4 --examples words.txt
"""


def parser() -> Parser:
    """The options of the command."""
    made = Parser("deniable plan", _ABOUT, arguments="[FILE]")
    made.add_argument("file", nargs="?", type=Path, metavar="FILE", help="A registry file.")
    made.add_argument(
        "--type", dest="kind", choices=sorted(TYPES), help="Instead of FILE: one metric."
    )
    made.add_argument(
        "--values", type=integer_in(2, MAX_CANDIDATES), metavar="N", help="How many categories."
    )
    made.add_argument(
        "--range",
        dest="ends",
        nargs=2,
        type=number,
        metavar=("LOW", "HIGH"),
        help="Of a number or distribution.",
    )
    made.add_argument("--epsilon", type=number, metavar="E", help="Privacy loss of one report.")
    made.add_argument("--every", choices=EVERY, help="How often a device may report.")
    made.add_argument(
        "--devices",
        type=integer_in(1, MAX_DEVICES),
        metavar="N",
        help="How many report; otherwise what FILE expects.",
    )
    made.add_argument(
        "--candidates",
        type=integer_in(1, MAX_CANDIDATES),
        metavar="N",
        help="How many strings will be looked for at once.",
    )
    made.add_argument(
        "--discover",
        action="store_true",
        default=None,
        help="Of a string: to be found although nobody listed it.",
    )
    made.add_argument(
        "--longest",
        type=integer_in(1, MAX_LONGEST),
        metavar="N",
        help="How many characters --discover finds whole.",
    )
    made.add_argument(
        "--alphabet", metavar="A", help="Of --discover: text, hex, digits, or the characters."
    )
    made.add_argument(
        "--example",
        dest="texts",
        action="append",
        metavar="TEXT",
        help="Of what is to be discovered: how many devices find this; may be repeated.",
    )
    made.add_argument(
        "--examples", type=Path, metavar="LIST", help="The same for each line of a file."
    )
    made.add_argument(
        "--days",
        type=integer_in(1, MAX_DAYS),
        default=DEFAULT_DAYS,
        metavar="N",
        help="For how many days devices report; 365 unless given.",
    )
    made.add_argument(
        "--width",
        type=number_in(*WIDTHS),
        metavar="W",
        help="Also: how many devices bring an interval down to ± W: a share such as 0.005, or in "
        "the unit of a number.",
    )
    made.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="Also draw it, as .svg, .png or .html; needs the extra deniable[charts].",
    )
    made.add_argument("--json", action="store_true", help="Print JSON.")
    return made


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status: 1 if a metric cannot work.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
    """
    from_options = (
        *(options.kind, options.values, options.ends, options.epsilon, options.every),
        *(options.discover, options.longest, options.alphabet),
    )
    if options.file is None:
        registry = _registry_of_options(options)
    elif any(option is not None for option in from_options):
        parser().error("FILE says type, values, range, epsilon and every itself")
    else:
        registry = load(options.file)
    texts = _texts(options)
    if texts and not any(metric.spec.letters for metric in registry.metrics.values()):
        parser().error("--example and --examples belong to a metric with discover = true")
    plans = [
        plan(
            metric,
            devices=options.devices,
            values_asked=options.candidates if metric.spec.type == "string" else None,
            days=options.days,
            width=options.width,
            budget=None if options.file is None else registry.budget,
            texts=texts,
        )
        for metric in registry.metrics.values()
    ]
    if options.picture is not None:
        _draw(plans, options.picture)
    if options.json:
        print(json.dumps({"plans": [planned.as_dict() for planned in plans]}, indent=2))
    else:
        for planned in plans:
            print(plan_text(planned, named=options.file is not None))
            if len(plans) == 1 and not planned.examples:
                print(f"\n{plan_plot(planned)}")
            print()
    return 1 if any(planned.refusal for planned in plans) else 0


def _texts(options: argparse.Namespace) -> list[str]:
    """The examples of the command line and of its file, each once; at most `MAX_TEXTS`."""
    texts = list(options.texts or ())
    if options.examples is not None:
        try:
            texts += options.examples.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DeniableError(f"{options.examples} cannot be read: {error}") from None
    found = [text for text in dict.fromkeys(texts) if text]
    if len(found) > MAX_TEXTS:
        raise DeniableError(f"examples must be at most {MAX_TEXTS:,}, got {len(found):,}")
    return found


def _draw(plans: Sequence[Plan], path: Path) -> None:
    """Draws a chart into a file, by the aggregator's module, which light installs cannot load."""
    try:
        charts = import_module("deniable_aggregator.charts.plans")
    except ImportError as error:
        raise DeniableError("pictures need an extra: pip install 'deniable[charts]'") from error
    charts.save(charts.plans_chart(plans), path)


def _registry_of_options(options: argparse.Namespace) -> Registry:
    """A registry with one metric, which the options describe."""
    lines = [
        'registry = 1\napplication = "plan"',
        f"[budget]\nepsilon_per_day = {MAX_EPSILON_PER_DAY}",
        f"epsilon_lifetime = {MAX_EPSILON_LIFETIME}",
        f"[metrics.{NAME}]\nexpected_devices = {options.devices or DEFAULT_DEVICES}",
        *_metric_lines(options),
        f'every = "{options.every or "day"}"',
    ]
    return parse("\n".join(lines), name="options")


def _metric_lines(options: argparse.Namespace) -> list[str]:
    kind, values, ends = options.kind, options.values, options.ends
    if problem := _missing_or_needless(options):
        parser().error(problem)
    lines = [f'type = "{kind}"', f"epsilon = {options.epsilon!r}"]
    if values is not None:
        lines.append(f"values = {json.dumps([f'value {index}' for index in range(values)])}")
        lines.append("complete = true")
    if ends is not None:
        lines.append(f"range = [{ends[0]!r}, {ends[1]!r}]")
    if options.discover:
        lines.append("discover = true")
    if options.longest is not None:
        lines.append(f"longest = {options.longest}")
    if options.alphabet is not None:
        lines.append(f"alphabet = {json.dumps(options.alphabet)}")
    return lines


def _missing_or_needless(options: argparse.Namespace) -> str | None:
    """What is wrong with the options that describe a metric; None if nothing is."""
    kind = options.kind
    if kind is None or options.epsilon is None:
        return "give FILE, or --type and --epsilon"
    if kind == "attributes":
        return "attributes need a FILE: they have names and domains"
    if (kind == "category") != (options.values is not None):
        return "--values belongs to --type category"
    if options.values is not None and options.values > MAX_VALUES:
        return f"a category has at most {MAX_VALUES:,} values: plan --type string for more"
    if (kind in TYPES_WITH_RANGE) != (options.ends is not None):
        return "--range belongs to --type number and distribution"
    if options.discover and kind != "string":
        return "--discover belongs to --type string"
    if not options.discover and (options.longest, options.alphabet) != (None, None):
        return "--longest and --alphabet belong to --discover"
    return None
