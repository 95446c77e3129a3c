"""The one definition of every chart: for a page, a notebook and a file alike.

Charts are Vega-Lite, made with Altair. A notebook shows them as they are, a page embeds their JSON,
and a file is drawn without a browser (needs ``deniable[charts]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

import altair as alt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

WIDTH: Final = 420
ROW_HEIGHT: Final = 18
SUFFIXES: Final = (".html", ".json", ".png", ".svg")
PNG_SCALE: Final = 2.0
HISTOGRAM_HEIGHT: Final = 220
MEDIAN: Final = 0.5

WHOSE: Final = {"devices": "the devices that reported", "population": "the population"}
_ESTIMATE: Final = "#1f6feb"
_PROCESSED: Final = "#bf8700"
_TRUTH: Final = "#d1242f"


def shares_chart(
    answer: Mapping[str, Any], truth: Mapping[str, float] | None = None, *, most: int = 25
) -> alt.LayerChart:
    """Estimated shares with their intervals, the largest first; beside the truth if it is known.

    Args:
        answer: what the server answered, or `Estimate.as_dict`.
        truth: true shares by item.
        most: how many items are drawn.
    """
    ordered = sorted(answer["estimates"], key=lambda row: -row["share"])[:most]
    rows = [{**row, "truth": None if truth is None else truth[row["item"]]} for row in ordered]
    level = answer["interval"]["level"]
    kind = {"item": "", "simultaneous": " of all at once", "selected": " after selection"}
    estimated = f"estimate, {level:.0%} interval{kind[answer['interval']['kind']]}"
    # Beside the truth there is enough to see.
    processed = (
        answer["postprocess"]["method"] if truth is None and "postprocess" in answer else None
    )
    legend = {estimated: _ESTIMATE}
    if processed is not None:
        legend[f"{processed}, no interval"] = _PROCESSED
    if truth is not None:
        legend["truth"] = _TRUTH
    color = alt.Color(
        "mark:N",
        title=None,
        scale=alt.Scale(domain=list(legend), range=list(legend.values())),
        legend=alt.Legend(orient="bottom"),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("item:N", title=None, sort=[row["item"] for row in rows])
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
    if processed is not None:
        layers.append(
            base.transform_calculate(mark=f"'{processed}, no interval'")
            .mark_point(shape="diamond", size=45)
            .encode(x="processed:Q", color=color)
        )
    if truth is not None:
        layers.append(
            base.transform_calculate(mark="'truth'")
            .mark_tick(thickness=2, height=ROW_HEIGHT * 0.7)
            .encode(x="truth:Q", color=color)
        )
    title = alt.TitleParams(answer["metric"], subtitle=_subtitle(answer), anchor="start")
    return alt.LayerChart(
        layer=layers, title=title, width=WIDTH, height=ROW_HEIGHT * max(len(rows), 2)
    )


def distribution_chart(answer: Mapping[str, Any]) -> alt.LayerChart:
    """A histogram with the intervals of its bins, and a rule at the median.

    Args:
        answer: what the server answered, or `DistributionEstimate.as_dict`.
    """
    title = alt.TitleParams(answer["metric"], subtitle=_subtitle(answer), anchor="start")
    base = alt.Chart(alt.InlineData(values=list(answer["bins"])))
    unit = alt.X("from:Q", title=answer["metric"], scale=alt.Scale(nice=False, zero=False))
    share = alt.Axis(format="~%", tickCount=6)
    bars = base.mark_bar(color=_ESTIMATE, opacity=0.5).encode(
        x=unit,
        x2="to:Q",
        y=alt.Y("share:Q", title=f"share of {WHOSE[answer['about']]}", axis=share),
        y2=alt.datum(0),
    )
    errors = (
        base.transform_calculate(middle="(datum.from + datum.to) / 2")
        .mark_rule(color=_ESTIMATE)
        .encode(x="middle:Q", y="low:Q", y2="high:Q")
    )
    median = [row for row in answer["quantiles"] if row["quantile"] == MEDIAN]
    rule = alt.Chart(alt.InlineData(values=median)).mark_rule(color=_TRUTH, strokeDash=[4, 3])
    layers = [bars, errors, rule.encode(x="value:Q")]
    return alt.LayerChart(layer=layers, title=title, width=WIDTH, height=HISTOGRAM_HEIGHT)


def _whose(answer: Mapping[str, Any]) -> str:
    whose, segment = WHOSE[answer["about"]], answer.get("segment")
    return whose if segment is None else f"{whose} with {segment['name']}={segment['value']}"


def _subtitle(answer: Mapping[str, Any]) -> str:
    return f"{answer['reports']:,} reports, {specs_of(answer['specs'])}"


def specs_of(specs: Sequence[Mapping[str, Any]]) -> str:
    """Mechanisms and their epsilons, in a few words.

    Args:
        specs: those of an answer.
    """
    return "; ".join(f"{spec['title']}, epsilon {spec['epsilon']:.2f}" for spec in specs)


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
