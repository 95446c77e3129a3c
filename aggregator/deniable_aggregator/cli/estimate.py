"""``deniable estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.render.number_tables import (
    distribution_table,
    number_line,
    number_notes,
)
from deniable_aggregator.cli.render.output import (
    import_charts,
    json_option,
    literal_console,
    picture_option,
    print_json,
    print_table,
    uncounted,
    warnings,
)
from deniable_aggregator.cli.render.share_table import estimate_table, notes
from deniable_aggregator.cli.support.http_client import server_options
from deniable_aggregator.cli.support.question_options import (
    about_option,
    ask,
    candidates_option,
    days_options,
    lines_of,
    sum_items,
    sum_option,
)
from deniable_aggregator.estimation.postprocess import POSTPROCESS
from deniable_aggregator.statistics.intervals import CORRECTIONS, INTERVALS
from deniable_aggregator.statistics.reconstruction import RECONSTRUCTIONS

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("metric")
@candidates_option
@days_options
@click.option("--top", type=click.IntRange(1), help="Only the N largest.", metavar="N")
@click.option("--detected", is_flag=True, help="Only items that are detected.")
@sum_option
@click.option(
    "--range",
    "ends",
    nargs=2,
    metavar="FIRST LAST",
    help="The same for all items of a category from FIRST to LAST, in the registry's order.",
)
@about_option
@click.option("--interval", type=click.Choice(INTERVALS), help="What the intervals cover.")
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default=CORRECTIONS[0],
    show_default=True,
    help="Of detection for the number of items.",
)
@click.option(
    "--postprocess", type=click.Choice(POSTPROCESS), help="What to add beside the raw shares."
)
@click.option(
    "--reconstruction",
    type=click.Choice(RECONSTRUCTIONS),
    help="How the histogram of a distribution is found; em unless said otherwise.",
)
@click.option("--segment", help="Shares among the devices of this segment of the metric.")
@picture_option
@json_option
@server_options
def estimate(
    metric: str,
    candidates: Path | None,
    since: str | None,
    until: str | None,
    top: int | None,
    detected: bool,
    added: tuple[str, ...],
    ends: tuple[str, str] | None,
    about: str,
    interval: str | None,
    correction: str,
    postprocess: str | None,
    reconstruction: str | None,
    segment: str | None,
    picture: Path | None,
    as_json: bool,
    server: str,
    token: str,
) -> None:
    """Estimates METRIC: which items, what share, how sure.

    Shares are raw: unbiased, not clipped and not rescaled. They may fall below zero, and need not
    add up to one.

    Which interval is which (--interval), all at 95%:

    \b
        item          covers one item that you had in mind before looking. The default
                      for whole metrics and lists of candidates.
        simultaneous  covers all items asked for at once (Bonferroni): for "none of
                      these is above 1%". Wider.
        selected      covers 95% of the items shown, although they are shown because
                      their estimates are large (false coverage rate). The default with
                      --top and --detected. Plain intervals of such items cover less.

    Where few reports are expected, intervals are exact binomial ones on their own. About devices
    means the very devices that reported; about population adds the error of having drawn them.

    An item is there ("yes") if a test finds it, corrected for all items asked for: bh keeps the
    share of false ones below 5% on average, bonferroni the probability of any.

    Of a number it prints the mean, of a distribution the histogram, the mean and quantiles, all for
    the population. --reconstruction ems is for histograms of many bins that are known to be smooth.

    --postprocess adds a column, the raw one stays: norm-sub (for whole distributions and sums; the
    default for these), power (if the items follow a power law), base-cut (only what stands out),
    ibu (most likely shares). For the largest items raw is best.

    \b
        deniable estimate theme
        deniable estimate emoji --candidates emoji.txt --top 20
        deniable estimate carrier --sum AA,DL --about population
        deniable estimate theme --segment beta
        deniable estimate startup_seconds
    """  # noqa: D301  click reads the backslash as a sign
    query = {
        "since": since,
        "until": until,
        "top": None if top is None else str(top),
        "detected": "true" if detected else None,
        "about": about,
        "interval": interval,
        "correction": correction,
        "postprocess": postprocess,
        "reconstruction": reconstruction,
        "segment": segment,
    }
    question: dict[str, list[str]] = {}
    if candidates is not None:
        question["candidates"] = lines_of(candidates)
    question.update(sum_items(added))
    if ends is not None:
        question["range"] = list(ends)
    answer = ask(server, token, f"/v1/metrics/{metric}/estimate", query, question)
    if picture is not None:
        _draw(answer, picture)
    if as_json:
        print_json(answer)
        return
    console = literal_console()
    kind = answer.get("type")
    if kind is None:
        print_table(estimate_table(answer))
    elif kind == "number":
        console.print(number_line(answer))
    else:
        print_table(distribution_table(answer))
    for line in notes(answer) if kind is None else number_notes(answer):
        console.print(line)
    for line in (*uncounted(answer), *warnings(metric, answer["health"])):
        console.print(line)


def _draw(answer: dict[str, object], path: Path) -> None:
    drawing, kind = import_charts(), answer.get("type")
    if kind == "number":
        raise click.ClickException("a mean is a single number: there is nothing to draw")
    chart = drawing.distribution_chart if kind == "distribution" else drawing.shares_chart
    drawing.save(chart(answer), path)
