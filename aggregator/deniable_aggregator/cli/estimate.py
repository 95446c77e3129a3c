"""``deniable estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.asking.questions import ESTIMATE
from deniable_aggregator.cli.support.question_options import question_command

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.telling.tables import Order


@question_command(
    ESTIMATE,
    click.option(
        "--sort",
        "largest_first",
        is_flag=True,
        help="The largest first in the table. Unlike with --top, all are shown and intervals stay.",
    ),
)
def estimate(answer: Answer, *, largest_first: bool, explain: bool) -> None:
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

    A value is told from zero if a test finds it, corrected for all values asked for: few keeps
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
    from deniable_aggregator.media.terminal import print_document
    from deniable_aggregator.telling.tell import tell

    order: Order = "largest" if largest_first else "listed"
    print_document(tell(answer, order=order), explain=explain)
