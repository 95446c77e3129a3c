"""``deniable plan``: what a metric will show, before anything ships."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.ascii import printable
from deniable_shared.commands.mistakes import FileProblemError
from deniable_shared.commands.parser import Parser, integer_in, number, number_in
from deniable_shared.commands.plan_registry import (
    ASSUMED_IN_FILE,
    DEVICES_FROM,
    asked_metric,
    missing_or_needless,
    without_expected_devices,
)
from deniable_shared.commands.plan_relayed import relayed_as_json, relayed_text
from deniable_shared.commands.plan_text import plan_plot, plan_text
from deniable_shared.commands.plan_together import together_as_json, together_text
from deniable_shared.commands.text import wrapped
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.mechanisms.sets.base import MAX_MOST
from deniable_shared.periods import EVERY
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, MOST_DAYS
from deniable_shared.planning.experiment import HALF, POINTS
from deniable_shared.planning.one_metric import plan_one_metric
from deniable_shared.planning.plan import plan
from deniable_shared.registry import DEFAULT_DEVICES, MAX_DEVICES, Registry, load
from deniable_shared.registry.discovery import MAX_LONGEST
from deniable_shared.spec import TYPES
from deniable_shared.value_lists import different, notices, read_list

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from deniable_shared.planning.result import Plan

MAX_CANDIDATES: Final = 10**12
MAX_TEXTS: Final = 10_000
LEAST_SHARE: Final = 1e-6
WIDTHS: Final = (1e-100, 1e100)
"""The least and the largest --width: between them no figure overflows."""

_ABOUT: Final = """\
Says what the metrics of FILE will show, or one metric given by options.

With --share it says how many devices tell a value that so many of them have
from zero; without --devices the plan is then for as many.

For each: the mechanism and why; the size of a report; how wide intervals will
be; which shares will be detected; and what reporting again and again costs; of
all metrics of FILE together, what they cost a device at most. A metric that
cannot even detect a value that 10% of the devices have is refused, with the
nearest setting that can; the exit status is then 1.

    deniable plan metrics.toml
    deniable plan --type category --values 50 --epsilon 1 --devices 100000
    deniable plan --type category --values 10 --epsilon 1 --share 0.01
    deniable plan --type set --values 30 --most 8 --epsilon 1 --share 0.01
    deniable plan --type string --epsilon 2 --devices 1000000 --width 0.001
    deniable plan --type number --range 0 30 --epsilon 1 --devices 20000
    deniable plan --type category --values 2 --epsilon 3 --experiment

Of a metric that discovers strings which nobody listed it says how many devices
find some examples, or strings of your own:

    deniable plan metrics.toml --example flatpak --example 日本語
    deniable plan --type string --discover --epsilon 4 --examples words.txt
"""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable plan", _ABOUT, arguments="[FILE]")
    command_parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="A registry file."
    )
    command_parser.add_argument(
        "--type", dest="kind", choices=sorted(TYPES), help="Instead of FILE: one metric."
    )
    command_parser.add_argument(
        "--values",
        type=integer_in(2, MAX_CANDIDATES),
        metavar="N",
        help="How many categories, or items of sets; of sets of any texts left out.",
    )
    command_parser.add_argument(
        "--most",
        type=integer_in(1, MAX_MOST),
        metavar="N",
        help="Of a set: how many items of a device a report covers.",
    )
    command_parser.add_argument(
        "--range",
        dest="ends",
        nargs=2,
        type=number,
        metavar=("LOW", "HIGH"),
        help="Of a number or distribution.",
    )
    command_parser.add_argument(
        "--epsilon", type=number, metavar="E", help="Privacy loss of one report."
    )
    command_parser.add_argument("--every", choices=EVERY, help="How often a device may report.")
    command_parser.add_argument(
        "--devices",
        type=integer_in(1, MAX_DEVICES),
        metavar="N",
        help="How many report; otherwise what FILE expects, or as many as --share needs, or "
        f"{DEFAULT_DEVICES:,}, and this is said.",
    )
    command_parser.add_argument(
        "--candidates",
        type=integer_in(1, MAX_CANDIDATES),
        metavar="N",
        help="How many strings will be looked for at once.",
    )
    command_parser.add_argument(
        "--discover",
        action="store_true",
        default=None,
        help="Of a string: to be found although nobody listed it.",
    )
    command_parser.add_argument(
        "--longest",
        type=integer_in(1, MAX_LONGEST),
        metavar="N",
        help="How many characters --discover finds whole.",
    )
    command_parser.add_argument(
        "--alphabet", metavar="A", help="Of --discover: text, hex, digits, or the characters."
    )
    command_parser.add_argument(
        "--example",
        dest="texts",
        action="append",
        metavar="TEXT",
        help="Of what is to be discovered: how many devices find this; may be repeated.",
    )
    command_parser.add_argument(
        "--examples", type=Path, metavar="LIST", help="The same for each line of a file."
    )
    command_parser.add_argument(
        "--days",
        type=integer_in(1, MOST_DAYS),
        default=DAYS_OF_A_YEAR,
        metavar="N",
        help=f"For how many days devices report; {DAYS_OF_A_YEAR} unless given.",
    )
    command_parser.add_argument(
        "--share",
        type=number_in(LEAST_SHARE, 1),
        metavar="S",
        help="How many devices are needed to tell a value held by this share of devices from zero. "
        "Without --devices, the plan is for that number.",
    )
    command_parser.add_argument(
        "--experiment",
        dest="difference",
        nargs="?",
        const=POINTS,
        type=number_in(LEAST_SHARE, HALF),
        metavar="D",
        help="How many devices tell a difference of so much between two arms, 0.02 unless given: "
        "2 points.",
    )
    command_parser.add_argument(
        "--width",
        type=number_in(*WIDTHS),
        metavar="W",
        help="Also: how many devices bring an interval down to ± W: a share such as 0.005, or in "
        "the unit of a number.",
    )
    command_parser.add_argument(
        "--shuffled-among",
        dest="among",
        type=integer_in(1, MAX_DEVICES),
        metavar="N",
        help="Also: what a report costs behind a relay, if N honest ones look alike in a batch "
        "(needs deniable[aggregator]).",
    )
    command_parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="Also draw it, as .svg, .html or .png (needs deniable[charts]).",
    )
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status: 1 if a metric cannot work.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
    """
    if options.picture is not None:
        _aggregators("media.pictures.files").check_picture(options.picture)
    from_options = (
        *(options.kind, options.values, options.ends, options.epsilon, options.every),
        *(options.most, options.discover, options.longest, options.alphabet),
    )
    registry = None
    if options.file is None:
        plans, origins = _of_options(options)
    elif any(option is not None for option in from_options):
        parser().error("FILE says type, values, range, epsilon and every itself")
    else:
        registry = load(options.file)
        plans, origins = _of_file(options, registry)
    if options.picture is not None:
        _draw(plans, options.picture)
    if options.json:
        data: dict[str, Any] = {"plans": [planned.as_dict() for planned in plans]}
        if options.among is not None:
            for planned, entry in zip(plans, data["plans"], strict=True):
                entry["relayed"] = relayed_as_json(planned.metric.spec, options.among)
        if registry is not None:
            data["together"] = together_as_json(registry, options.days)
        print(json.dumps(data, indent=2))
    else:
        for planned in plans:
            origin = origins.get(planned.metric.spec.name, "")
            print(printable(plan_text(planned, with_name=options.file is not None, origin=origin)))
            if options.among is not None:
                print("\n".join(wrapped([relayed_text(planned.metric.spec, options.among)])))
            if len(plans) == 1 and not planned.examples:
                print(printable(f"\n{plan_plot(planned)}"))
            print()
        if registry is not None:
            print("\n".join(wrapped([together_text(registry, options.days)])))
    return 1 if any(planned.refusal for planned in plans) else 0


def _of_options(options: argparse.Namespace) -> tuple[list[Plan], dict[str, str]]:
    """The plan of the metric that options describe, and where its devices come from."""
    if problem := missing_or_needless(options):
        parser().error(problem)
    planned = plan_one_metric(asked_metric(options, _texts(options, discovers=options.discover)))
    name = planned.plan.metric.spec.name
    return [planned.plan], {name: DEVICES_FROM[planned.devices_from]}


def _of_file(options: argparse.Namespace, registry: Registry) -> tuple[list[Plan], dict[str, str]]:
    """The plans of a file's metrics, and where their devices come from."""
    metrics = registry.metrics.values()
    texts = _texts(options, discovers=any(metric.spec.letters for metric in metrics))
    plans = [
        plan(
            metric,
            devices=options.devices,
            values_asked=options.candidates if metric.spec.is_open else None,
            days=options.days,
            width=options.width,
            share=options.share,
            difference=options.difference,
            budget=registry.budget,
            texts=texts,
        )
        for metric in metrics
    ]
    if options.devices is not None:
        return plans, {}
    return plans, dict.fromkeys(without_expected_devices(options.file), ASSUMED_IN_FILE)


def _texts(options: argparse.Namespace, *, discovers: bool) -> Sequence[str]:
    """The examples of the command line and of its file, each once; at most `MAX_TEXTS`."""
    texts = list(options.texts or ())
    if options.examples is not None:
        try:
            texts += read_list(options.examples.read_bytes())
        except (OSError, ParameterError) as error:
            why = getattr(error, "strerror", None) or error
            raise FileProblemError(options.examples, f"cannot be read: {why}") from None
    distinct = different(text for text in texts if text)
    for notice in notices(distinct):
        print(printable(f"Notice: examples: {notice}"), file=sys.stderr)
    if len(distinct) > MAX_TEXTS:
        raise DeniableError(f"examples must be at most {MAX_TEXTS:,}, got {len(distinct):,}")
    if distinct and not discovers:
        parser().error("--example and --examples belong to a metric with discover = true")
    return distinct


def _draw(plans: Sequence[Plan], path: Path) -> None:
    """Draws the plans into a file."""
    figures = [_aggregators("telling.curves").plan_figure(planned) for planned in plans]
    note = _aggregators("media.pictures.files").save(figures, path)
    if note is not None:
        print(f"{path}: {note}", file=sys.stderr)


def _aggregators(module: str) -> Any:
    """A module of the aggregator, whose pictures need no other package; devices have none of it."""
    return import_module(f"deniable_aggregator.{module}")
