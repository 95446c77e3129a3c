"""Charts of estimates, the same for a page, a notebook and a file.

Charts are Vega-Lite, made with Altair. A notebook shows them, a page embeds their JSON, and a file
is drawn without a browser.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final, Literal, cast

import altair as alt
from msgspec import UNSET, to_builtins

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.answers.words import POSTPROCESS_LABELS
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.answers.common import MetricVersion, Notice
    from deniable_aggregator.answers.estimates import Distribution, Shares
    from deniable_aggregator.answers.words import Margin

WIDTH: Final = 420
ROW_HEIGHT: Final = 18
SUFFIXES: Final = (".html", ".json", ".png", ".svg")
PNG_SCALE: Final = 2.0
HISTOGRAM_HEIGHT: Final = 220
PIXELS_OF_A_LETTER: Final = 6
MEDIAN: Final = 0.5

DEVICES: Final[Mapping[Margin, str]] = {
    "noise": "the devices that reported",
    "noise-and-sampling": "the population",
}

_ESTIMATE: Final = "#1f6feb"
_ADJUSTED: Final = "#bf8700"
_TRUTH: Final = "#d1242f"


def shares_chart(
    answer: Shares | SegmentShares, truth: Mapping[str, float] | None = None, *, most: int = 25
) -> alt.LayerChart:
    """Estimated shares with their intervals, the largest first; beside the truth if it is known.

    Args:
        answer: the shares.
        truth: true shares by value.
        most: how many values are drawn.
    """
    ordered = sorted(answer.estimates, key=lambda row: -row.share)[:most]
    rows = [
        {**to_builtins(row), "truth": None if truth is None else truth[row.value]}
        for row in ordered
    ]
    level = answer.interval.level
    kind = {"one": "", "all": ", all together", "picked": ", after picking the top"}
    estimated = f"estimate, {level:.0%} interval{kind[answer.interval.kind or 'one']}"
    # A chart with the truth has no room for adjusted shares.
    adjusted = None
    if truth is None and not isinstance(answer, SegmentShares) and answer.postprocess is not UNSET:
        adjusted = POSTPROCESS_LABELS.get(answer.postprocess.method, answer.postprocess.method)
    legend = {estimated: _ESTIMATE}
    if adjusted is not None:
        legend[f"{adjusted}, no interval"] = _ADJUSTED
    if truth is not None:
        legend["truth"] = _TRUTH
    color = alt.Color(
        "mark:N",
        title=None,
        scale=alt.Scale(domain=list(legend), range=list(legend.values())),
        legend=alt.Legend(orient="bottom"),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("value:N", title=None, sort=[row.value for row in ordered])
    )
    axis = alt.Axis(format="~%", tickCount=6)
    marked = base.transform_calculate(mark=f"'{estimated}'")
    layers: list[alt.Chart] = [
        marked.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=f"share of {_whose(answer)}", axis=axis),
            x2="high:Q",
            color=color,
        ),
        marked.mark_circle(size=45, opacity=1).encode(x="share:Q", color=color),
    ]
    if adjusted is not None:
        layers.append(
            base.transform_calculate(mark=f"'{adjusted}, no interval'")
            .mark_point(shape="diamond", size=45)
            .encode(x="adjusted:Q", color=color)
        )
    if truth is not None:
        layers.append(
            base.transform_calculate(mark="'truth'")
            .mark_tick(thickness=2, height=ROW_HEIGHT * 0.7)
            .encode(x="truth:Q", color=color)
        )
    title = alt.TitleParams(answer.metric, subtitle=_subtitle(answer), anchor="start")
    return alt.LayerChart(
        layer=layers, title=title, width=WIDTH, height=ROW_HEIGHT * max(len(rows), 2)
    )


def distribution_chart(answer: Distribution) -> alt.LayerChart:
    """A histogram with the intervals of its bins, and a rule at the median if it is placed.

    Args:
        answer: the distribution.
    """
    title = alt.TitleParams(answer.metric, subtitle=_subtitle(answer), anchor="start")
    base = alt.Chart(alt.InlineData(values=to_builtins(answer.bins)))
    unit = alt.X("from:Q", title=answer.metric, scale=alt.Scale(nice=False, zero=False))
    share = alt.Axis(format="~%", tickCount=6)
    bars = base.mark_bar(color=_ESTIMATE, opacity=0.5).encode(
        x=unit,
        x2="to:Q",
        y=alt.Y("share:Q", title=f"share of {DEVICES[answer.margin]}", axis=share),
        y2=alt.datum(0),
    )
    errors = (
        base.transform_calculate(middle="(datum.from + datum.to) / 2")
        .mark_rule(color=_ESTIMATE)
        .encode(x="middle:Q", y="low:Q", y2="high:Q")
    )
    median = [
        to_builtins(row)
        for row in answer.quantiles
        if row.quantile == MEDIAN and row.estimate is not None
    ]
    rule = alt.Chart(alt.InlineData(values=median)).mark_rule(color=_TRUTH, strokeDash=[4, 3])
    layers = [bars, errors, rule.encode(x="estimate:Q")]
    return alt.LayerChart(layer=layers, title=title, width=WIDTH, height=HISTOGRAM_HEIGHT)


def _whose(answer: Shares | SegmentShares) -> str:
    whose = DEVICES[answer.margin]
    if isinstance(answer, SegmentShares):
        return f"{whose} with {answer.segment.name}={answer.segment.value}"
    return whose


def _subtitle(answer: Shares | SegmentShares | Distribution) -> list[str]:
    counted = f"{answer.reports:,} reports, {mechanisms_of(answer.versions)}"
    return [*warning_lines(answer.notices, WIDTH), counted]


def warning_lines(notices: Iterable[Notice], width: int) -> Iterator[str]:
    """The warnings of an answer, in lines that fit above a picture.

    Args:
        notices: those of the answer; notes are left out.
        width: of the picture, in pixels.
    """
    for notice in notices:
        if notice.severity == "warning":
            yield from textwrap.wrap(f"Warning: {notice.message}", width // PIXELS_OF_A_LETTER)


def mechanisms_of(versions: Sequence[MetricVersion]) -> str:
    """Mechanisms and their epsilons, in a few words.

    Args:
        versions: those of an answer.
    """
    return "; ".join(f"{each.title}, epsilon {each.epsilon:.2f}" for each in versions)


def save(chart: alt.TopLevelMixin, path: Path) -> None:
    """Writes a chart to a file; the suffix says as what.

    Args:
        chart: any Altair chart.
        path: ends in .html (a page that needs no network), .json (Vega-Lite), .png or .svg.

    Raises:
        ParameterError: if it ends in anything else.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError("picture", f"a file ending in {', '.join(SUFFIXES)}", str(path))
    if suffix == ".html":
        path.write_text(chart.to_html(inline=True), encoding="utf-8")
    else:
        kind = cast("Literal['json', 'png', 'svg']", suffix[1:])
        chart.save(path, format=kind, scale_factor=PNG_SCALE if suffix == ".png" else 1)
