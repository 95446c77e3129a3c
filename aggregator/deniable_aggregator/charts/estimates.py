"""Charts of estimates, the same for a page, a notebook and a file.

Charts are Vega-Lite, made with Altair. A notebook shows them, a page embeds their JSON, and a file
is drawn without a browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt
from msgspec import UNSET, to_builtins

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.answers.words import POSTPROCESS_LABELS
from deniable_aggregator.charts.titles import counted_in_words, title_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.estimates import Distribution, Share, Shares
    from deniable_aggregator.answers.words import Margin

WIDTH: Final = 420
ROW_HEIGHT: Final = 18
HISTOGRAM_HEIGHT: Final = 220
MEDIAN: Final = 0.5

DEVICES: Final[Mapping[Margin, str]] = {
    "noise": "the devices that reported",
    "noise-and-sampling": "the population",
}

_ESTIMATE: Final = "#1f6feb"
_ADJUSTED: Final = "#bf8700"
_TRUTH: Final = "#d1242f"
_SHAPES: Final = {_ESTIMATE: "circle", _ADJUSTED: "diamond", _TRUTH: "stroke"}
_LEGEND_PIXELS: Final = 300


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
        {
            **to_builtins(row),
            "truth": None if truth is None else truth[row.value],
            "label": _label(row, answer.reports),
        }
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
    below = alt.Legend(orient="bottom", labelLimit=_LEGEND_PIXELS, symbolFillColor="transparent")
    color = alt.Color(
        "mark:N",
        title=None,
        scale=alt.Scale(domain=list(legend), range=list(legend.values())),
        legend=below,
    )
    shape = alt.Shape(
        "mark:N",
        title=None,
        scale=alt.Scale(domain=list(legend), range=[_SHAPES[each] for each in legend.values()]),
        legend=below,
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "label:N",
            title=None,
            sort=[row["label"] for row in rows],
            axis=alt.Axis(labelLimit=_LEGEND_PIXELS),
        )
    )
    axis = alt.Axis(format="~%", tickCount=6)
    marked = base.transform_calculate(mark=f"'{estimated}'")
    layers: list[alt.Chart] = [
        marked.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=f"share of {_whose(answer)}", axis=axis),
            x2="high:Q",
            color=color,
        ),
        marked.mark_point(size=40, filled=True, opacity=1).encode(
            x="share:Q", color=color, shape=shape
        ),
    ]
    if any(row["low"] < 0 for row in rows):
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        layers.insert(0, zero.mark_rule(color="#57606a").encode(x="zero:Q"))
    if adjusted is not None:
        layers.append(
            base.transform_calculate(mark=f"'{adjusted}, no interval'")
            # Below the interval, which it would hide.
            .mark_point(size=30, filled=True, opacity=1, yOffset=6)
            .encode(x="adjusted:Q", color=color, shape=shape)
        )
    if truth is not None:
        layers.append(
            base.transform_calculate(mark="'truth'")
            .mark_tick(thickness=2, height=ROW_HEIGHT * 0.7)
            .encode(x="truth:Q", color=color)
        )
    return alt.LayerChart(
        layer=layers, title=_title(answer), width=WIDTH, height=ROW_HEIGHT * max(len(rows), 2)
    )


def _label(row: Share, reports: int) -> str:
    """A value, and how many reports its share is of where these are not all."""
    return row.value if row.reports == reports else f"{row.value} (of {row.reports:,} reports)"


def distribution_chart(answer: Distribution) -> alt.LayerChart:
    """A histogram with the intervals of its bins, and a rule at the median if it is placed.

    Args:
        answer: the distribution.
    """
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
        {"estimate": row.estimate, "label": f"median {row.estimate:.4g}"}
        for row in answer.quantiles
        if row.quantile == MEDIAN and row.estimate is not None
    ]
    rule = alt.Chart(alt.InlineData(values=median)).mark_rule(color=_TRUTH, strokeDash=[4, 3])
    label = rule.mark_text(align="left", baseline="top", dx=4, color=_TRUTH).encode(
        x="estimate:Q",
        y=alt.value(2),
        text=alt.Text("label:N"),
    )
    layers = [bars, errors, rule.encode(x="estimate:Q"), label]
    return alt.LayerChart(layer=layers, title=_title(answer), width=WIDTH, height=HISTOGRAM_HEIGHT)


def _whose(answer: Shares | SegmentShares) -> str:
    whose = DEVICES[answer.margin]
    if isinstance(answer, SegmentShares):
        return f"{whose} with {answer.segment.name}={answer.segment.value}"
    return whose


def _title(answer: Shares | SegmentShares | Distribution) -> alt.TitleParams:
    return title_of(
        answer.metric,
        answer.description,
        answer.notices,
        [("", answer.days)],
        [counted_in_words(answer.reports, answer.versions)],
        WIDTH,
    )
