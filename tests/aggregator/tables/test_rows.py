"""The long table has the numbers of the JSON answer, to the digit, in every format."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.answers.row import COLUMNS
from deniable_aggregator.media.row_formats import FORMATS, encode
from deniable_aggregator.media.rows import rows_of
from tests.aggregator.tables.made_up import KINDS, MadeUp
from tests.aggregator.tables.reading import read_back

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "",
                "=1+1",
                "'=1",
                "''@",
                "-",
                "a,b",
                'say "x"',
                "two\nlines",
                "\r\n",
                " ",
                "NA",
                "null",
            ]
        ),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    ),
    min_size=1,
    max_size=8,
)
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8)
SHARE = {"estimate": "share", "standard_error": "standard_error", "low": "low", "high": "high"}
SHIFT = {"shift_if_fake": "shift_if_fake"}
NUMBER = {"estimate": "estimate", "low": "low", "high": "high", **SHIFT}
DIFFERENCE = {
    "estimate": "change",
    **{name: name for name in ("low", "high", "before", "after", "shift_if_fake")},
}


def expected(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The numbers of a JSON answer: measure, and then columns with what they must hold."""
    found: list[tuple[Any, ...]] = []

    def add(measure: str, entries: Any, **columns: str) -> None:
        entries = entries if isinstance(entries, list) else [entries] if entries else []
        for entry in entries:
            found.append((measure, {name: entry.get(key) for name, key in columns.items()}))

    def add_numbers(part: dict[str, Any]) -> None:
        add("combined", part.get("combined"), **SHARE, **SHIFT, method="method", reports="reports")
        add("rest", part.get("rest"), **SHARE, **SHIFT, adjusted="adjusted", reports="reports")
        add(
            "share",
            part.get("estimates"),
            **SHARE,
            **{name: name for name in ("value", "detected", "adjusted", "reports", "method")},
            **SHIFT,
        )
        add("mean", part.get("mean"), **NUMBER, standard_error="standard_error")
        add("quantile", part.get("quantiles"), **NUMBER, quantile="quantile")

    if "periods" in document:
        for period in document["periods"]:
            add("segment size", period.get("segment"), **SHARE, detected="detected")
            add_numbers(period)
    elif "changes" in document:
        add("segment size", document.get("segment"), **SHARE, detected="detected")
        together = document.get("combined")
        add("difference in combined", together, **DIFFERENCE, p_value="p_value")
        kind = "share" if document["kind"] == "shares" else "mean"
        more = {name: name for name in ("value", "p_value", "adjusted_p_value", "standard_error")}
        changes = document["changes"]
        add(f"difference in {kind}", changes, **DIFFERENCE, **more, detected="changed")
        quantiles = document.get("quantiles")
        add("difference in quantile", quantiles, **DIFFERENCE, quantile="quantile")
        add("distance", document.get("shape"), p_value="p_value", detected="changed")
    elif "strings" in document:
        text = {"value": "text", "estimate": "share", "low": "low", "high": "high"}
        for name in ("strings", "prefixes"):
            add("share", document[name], **text, p_value="p_value", seen="seen")
        missing = (document["earlier"] or {}).get("missing")
        add("share", missing, value="text", before="share_before", high="high", seen="verdict")
    elif "by_day" in document:
        contrast = {"estimate": "difference", "low": "least", "before": "others", "after": "own"}
        for each in document["key_contrasts"]:
            kind = {"distance": "distribution"}.get(each["kind"], each["kind"])
            add(f"contrast in {kind}", each, **contrast, value="value", key="key", label="label")
        check = {"value": "check", "p_value": "p", "verdict": "verdict"}
        for day in document["by_day"]:
            add("day", day, since="day", reports="reports", verdict="verdict")
            add("check", day["checks"], **check)
            for key in day["keys"]:
                add("key", key, key="key", label="label", reports="reports", verdict="verdict")
                add("check", key["checks"], **check)
    else:
        sizes = document.get("segments", document.get("segment"))
        add("segment size", sizes, **SHARE, detected="detected")
        add_numbers(document)
        tested = {name: name for name in ("p_value", "adjusted_p_value", "reports")}
        add("lift", document.get("lifts"), **SHARE | {"estimate": "lift"}, **tested, **SHIFT)
        add("bin", document.get("bins"), estimate="share", bin_from="from", bin_to="to", **SHIFT)
        for version in document.get("per_version", ()):
            add_numbers(version)
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), texts=TEXTS, numbers=NUMBERS)
def test_every_format_reads_back_as_the_numbers_of_the_json(kind, seed, texts, numbers):
    answer = MadeUp(seed, texts, numbers).answer(kind)
    document = json.loads(msgspec.json.encode(answer))
    as_read = [read_back(b"".join(encode(rows_of(answer), name)), name) for name in FORMATS]
    assert all(each == as_read[0] for each in as_read)
    (rows, *_) = as_read
    numbers_asked = expected(document)
    assert sorted(row["measure"] for row in rows) == sorted(each for each, _ in numbers_asked)
    for measure, columns in numbers_asked:
        row = next(
            each
            for each in rows
            if each["measure"] == measure
            and all(_same(each[name], wanted) for name, wanted in columns.items())
        )
        rows.remove(row)
        assert tuple(row) == COLUMNS
        assert (row["application"], row["metric"]) == (document["application"], document["metric"])


def _same(read: Any, wanted: Any) -> bool:
    """Whether they are the same to the digit, and to the sign of zero."""
    if isinstance(wanted, float) and isinstance(read, float):
        return (read, math.copysign(1, read)) == (wanted, math.copysign(1, wanted))
    return read == wanted if not hasattr(read, "isoformat") else read.isoformat() == wanted
