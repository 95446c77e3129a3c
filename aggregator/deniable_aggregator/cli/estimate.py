"""``deniable estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.estimates import Estimate
from deniable_aggregator.answers.questions import EstimateQuery
from deniable_aggregator.answers.words import FALSE_FINDS, POSTPROCESS, RECONSTRUCTIONS
from deniable_aggregator.cli.support.completion import (
    complete_metric,
    complete_segment,
    complete_value,
)
from deniable_aggregator.cli.support.listed_values import candidates_option
from deniable_aggregator.cli.support.numbers import IntegerIn, NumberIn
from deniable_aggregator.cli.support.output import (
    explain_option,
    json_option,
    picture_option,
    print_answer,
)
from deniable_aggregator.cli.support.pictures import draw
from deniable_aggregator.cli.support.question_options import (
    SEGMENT_HELP,
    combined_option,
    days_options,
    interval_option,
    margin_option,
    quantile_option,
    question,
    value_lists,
    version_option,
    without_key_option,
)
from deniable_aggregator.cli.support.server_options import source_options

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource


@click.command()
@click.argument("metric", shell_complete=complete_metric)
@candidates_option
@days_options
@click.option("--top", type=IntegerIn(1), help="Only the N largest.", metavar="N")
@click.option(
    "--sort",
    "sorted_",
    is_flag=True,
    help="The largest first in the table. Unlike with --top, all are shown and intervals stay.",
)
@click.option("--detected", is_flag=True, help="Only values that are told from zero.")
@combined_option
@click.option(
    "--range",
    "ends",
    nargs=2,
    shell_complete=complete_value,
    metavar="FIRST LAST",
    help="The same for all values of a category from FIRST to LAST, in the registry's order.",
)
@margin_option
@interval_option
@click.option(
    "--false-finds",
    type=click.Choice(FALSE_FINDS),
    default=FALSE_FINDS[0],
    show_default=True,
    help="How many values may be called above zero by mistake.",
)
@click.option(
    "--postprocess", type=click.Choice(POSTPROCESS), help="What to add beside the raw shares."
)
@click.option(
    "--reconstruction",
    type=click.Choice(RECONSTRUCTIONS),
    help="How the histogram of a distribution is found; em unless said otherwise.",
)
@quantile_option
@click.option("--segment", help=SEGMENT_HELP, shell_complete=complete_segment)
@click.option(
    "--closeness",
    type=NumberIn(0, 1),
    metavar="DISTANCE",
    help="With --segment: warn if the segment is surely farther than this from all devices, "
    "0 to 1; 0.5 unless said otherwise.",
)
@click.option(
    "--ordered",
    is_flag=True,
    help="With --segment: values are in the order of the registry, so that the distance is the "
    "earth mover's instead of the total variation.",
)
@picture_option
@explain_option
@json_option
@click.option("--per-version", is_flag=True, help="Each version of the metric by itself, too.")
@version_option
@without_key_option
@source_options
def estimate(
    metric: str,
    candidates: tuple[str, ...],
    since: date | None,
    until: date | None,
    top: int | None,
    sorted_: bool,
    detected: bool,
    combined: tuple[str, ...],
    ends: tuple[str, str] | None,
    margin: str,
    interval: str | None,
    false_finds: str,
    postprocess: str | None,
    reconstruction: str | None,
    quantiles: tuple[float, ...],
    segment: str | None,
    closeness: float | None,
    ordered: bool,
    picture: Path | None,
    per_version: bool,
    version: str | None,
    without_key: tuple[str, ...],
    explain: bool,
    as_json: bool,
    source: HttpSource,
) -> None:
    """Estimates METRIC: which values, what share, how sure.

    Shares are raw: unbiased, not clipped and not rescaled. They may fall below zero, and need not
    add up to one.

    Which interval is which (--interval), all at 95%:

    \b
        one     covers one value that you had in mind before looking. The default for
                whole metrics and lists of values.
        all     covers all values asked for together (Bonferroni): for "none of these
                is above 1%". Wider.
        picked  covers 95% of the values shown, although they are shown because their
                estimates are large (false coverage rate). The default with --top and
                --detected. Plain intervals of such values cover less.

    Where few reports are expected, intervals are exact binomial ones. They allow for the noise of
    the very devices that reported; --margin noise-and-sampling adds the error of having drawn these
    devices from a population.

    Values stand in the order of the registry or of your list; --sort puts the largest first. What
    can't be told from zero is shown by its upper end, such as "below 0.6%".

    A value is above zero ("yes") if a test finds it, corrected for all values asked for: few keeps
    the share of false ones below 5% on average, none the probability of any.

    Of a number it prints the mean, of a distribution the histogram, the mean and quantiles, all for
    the population. --reconstruction ems is for histograms of many bins that are known to be smooth.

    With --segment it also says how far the values within the segment are from those of all devices,
    and warns of a segment whose devices are nearly all alike: what is true of nearly a whole
    segment is learnt of each of its devices, whatever epsilon is.

    --postprocess adds a column, the raw one stays: norm-sub (adjusted to add up to 100%, for whole
    distributions and combined shares; the default for these), power (if the shares follow a power
    law), base-cut (only what stands out), ibu (most likely shares). For the largest values raw is
    best.

    \b
        deniable estimate theme
        deniable estimate emoji --candidates list:emoji --top 20
        deniable estimate emoji --candidates list:emoji --candidates mine.txt --top 20
        deniable lists countries | deniable estimate country --candidates -
        deniable estimate carrier --combined AA,DL --margin noise-and-sampling
        deniable estimate theme --segment beta
        deniable estimate age_group --segment beta --ordered --closeness 0.3
        deniable estimate theme --sort --without-key partner
        deniable estimate theme --per-version
        deniable estimate startup_seconds --quantile 0.5 --quantile 0.999
    """  # noqa: D301  click reads the backslash as a sign
    asked = question(
        EstimateQuery,
        since=since,
        until=until,
        top=top,
        detected=detected,
        margin=margin,
        interval=interval,
        false_finds=false_finds,
        postprocess=postprocess,
        reconstruction=reconstruction or RECONSTRUCTIONS[0],
        quantile=quantiles,
        segment=segment,
        closeness=closeness,
        ordered=ordered,
        version=version,
        per_version=per_version,
        without_key=without_key,
    )
    lists = value_lists((), candidates, combined, ends)
    answered = source.ask(metric, "estimate", asked, lists)
    if as_json:
        print_answer(answered.content)
    else:
        from deniable_aggregator.cli.render.answers import print_estimate

        print_estimate(answered.decode(Estimate), largest_first=sorted_, explain=explain)
    if picture is not None:
        draw(answered.decode(Estimate), picture)
