"""The same numbers in every form, and text that nobody trusts."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser

import msgspec
import pytest
from msgspec.structs import replace

import deniable_analysis as da
from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.row import Row
from deniable_aggregator.media.rows import rows_of
from deniable_analysis import frames
from deniable_shared.errors import ParameterError
from tests.analysis.questions import QUESTIONS, WEEKS

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&\"'<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module", params=QUESTIONS)
def asked(request, connected):
    """The name of a question and its result."""
    return request.param, QUESTIONS[request.param](connected)


def test_a_server_and_a_backup_give_the_same_answer_to_the_digit(asked, opened):
    name, result = asked
    other = QUESTIONS[name](opened)
    assert type(other) is type(result)
    assert msgspec.json.encode(other.answer) == msgspec.json.encode(result.answer)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_the_numbers_of_the_answer(asked, backend):
    _, result = asked
    rows = list(rows_of(result.answer))
    assert rows
    frame = result.frame(backend, whole=True)
    columns = {
        "pandas": lambda: [list(frame[name]) for name in frame.columns],
        "polars": lambda: [frame[name].to_list() for name in frame.columns],
        "pyarrow": lambda: [column.to_pylist() for column in frame.columns],
    }[backend]()
    assert len(columns) == len(COLUMNS)
    for name, cells in zip(COLUMNS, columns, strict=True):
        for row, cell in zip(rows, cells, strict=True):
            expected = getattr(row, name)
            if expected is None:
                assert str(cell) in ("None", "nan", "<NA>", "NaT")
            else:
                day = backend == "pandas" and isinstance(expected, date)
                assert (cell.date() if day else cell) == expected


def test_the_html_shows_every_row_and_warnings_first(asked):
    _, result = asked
    html = result._repr_html_()
    cells = Cells.of(html)
    for each in result.rows()[:30]:
        if each.value is not None and each.question not in ("health",):
            assert any(each.value in cell for cell in cells), each.value
    alerts = [html.find(f"Warning:</b> {warning[:20]}") for warning in result.warnings]
    assert all(0 <= at < html.find("<table") for at in alerts)
    assert len(re.findall('role="alert"', html)) == len(result.warnings)
    assert "<script" not in html
    assert result.sentence in repr(result)


class Cells(HTMLParser):
    """The texts of cells, and the tags."""

    def __init__(self):
        super().__init__()
        self.cells, self.tags = [], set()

    @classmethod
    def of(cls, html):
        parser = cls()
        parser.feed(html)
        return parser.cells

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.cells.append(data)


def test_a_result_is_a_sequence_of_what_it_is_about(connected):
    shares = connected["browser"].estimate()
    assert [each.value for each in shares] == shares.values
    assert len(shares) == 5
    assert 0.3 < shares["Chrome"].estimate < 0.6
    with pytest.raises(ParameterError, match=r"did you mean 'Chrome'\?\), got 'chrome'"):
        shares["chrome"]
    change = connected["theme"].change(**WEEKS)
    assert change["dark"].told
    assert {"light", "dark"} <= {each.value for each in change.clear}
    series = connected["battery"].series(by="week")
    assert all(period.reports > 0 for period, _ in series.periods)
    assert series.mean in series.periods[0][1]
    numbers = connected["startup_seconds"].estimate(quantile=[0.5])
    assert (len(numbers.quantiles), len(numbers.bins)) == (1, 20)
    assert numbers.mean.low < numbers.mean.estimate


def test_strings_that_nobody_listed_are_found_in_a_backup(opened):
    told = []
    result = da.Result(
        opened.source.discover("code", on_progress=lambda *progress: told.append(progress))
    )
    assert result.values[0] == "1234"
    assert len(list(result)) == len(result) == 3
    assert result.frame("polars")["value"].to_list()[:3] == result.values
    assert "1234" in result._repr_html_()
    assert told[-1][0] == 1.0


@pytest.mark.service
def test_a_server_finds_the_same_strings_as_a_backup_has(connected, opened):
    there, here = (each["code"].discover(hints=["1234"]) for each in (connected, opened))
    assert msgspec.json.encode(there.answer) == msgspec.json.encode(here.answer)
    assert there.values[0] == "1234"


def test_a_key_that_answers_unlike_the_others_is_the_first_thing_said(connected):
    result = connected["browser"].estimate()
    assert "partner" in result.warnings[0]
    assert result.sentence.startswith(result.warnings[0])
    without = connected["browser"].estimate(without_key="partner")
    assert not any("partner" in each for each in without.warnings)
    overview = connected.health()
    assert overview["browser"].verdict != "ok"
    assert any("browser" in each and "partner" in each for each in overview.warnings)
    assert "partner" in overview._repr_html_()
    assert "browser" in repr(overview)
    assert overview.sentence.startswith(overview.warnings[0])
    assert overview.sentence.endswith(".")
    assert list(overview.frame("polars")["metric"]) == [each.metric for each in overview]


def test_a_report_is_written_and_says_what_to_look_at(opened, tmp_path):
    week = opened.report(tmp_path / "week.md", metrics="theme")
    assert (week.suspicious, week.failures) == ((), ())
    assert repr(week) == f"wrote {tmp_path}/week.md"
    text = week.path.read_text("utf-8")
    assert "2026-10-19" in text
    assert "2026-10-25" in text
    forged = opened.report(tmp_path / "forged.html", since="2026-10-12", metrics="browser")
    assert forged.suspicious == ("browser",)
    assert "browser are not all those of honest devices" in repr(forged)
    assert 'role="alert"' in forged._repr_html_()
    with pytest.raises(ParameterError, match=r"\.html or \.md"):
        opened.report(tmp_path / "week.pdf")


def test_the_metrics_are_a_table(connected):
    metrics = connected.metrics
    assert metrics.names == sorted(metrics.names)
    frame = metrics.frame("pandas")
    assert list(frame["name"]) == metrics.names
    assert str(frame["first_day"].dtype).startswith("datetime64")
    browser = next(each for each in metrics if each.name == "browser")
    assert browser.reports > 7_000
    assert "Which browser opened the report" in metrics._repr_html_()
    assert "browser (category, " in repr(metrics)


def test_text_that_devices_or_keys_brought_acts_nowhere(connected):
    answer = connected["browser"].estimate().answer
    answer.head.description = answer.head.metric = HOSTILE
    answer.numbers[0] = replace(answer.numbers[0], value=HOSTILE)
    answer.notices.insert(0, Notice("x", "warning", HOSTILE))
    result = da.Result(answer)
    html = result._repr_html_()
    parser = Cells()
    parser.feed(html)
    assert not parser.tags & {"script", "img"}
    for shown in (html, repr(result), result.sentence):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert result.frame("polars")["value"][0] == HOSTILE


def test_the_html_of_a_long_answer_is_short_and_says_where_the_rest_is(connected):
    answer = connected["browser"].estimate().answer
    share = answer.numbers[0]
    answer.numbers = [replace(share, value=f"v{number}") for number in range(1_000)]
    html = da.Result(answer)._repr_html_()
    assert html.count("<tr>") == 31
    assert "970 more rows: see .frame()." in html


def test_frames_of_several_answers_are_put_below_each_other(connected):
    import polars

    some = [
        connected[name].estimate().frame("polars", whole=True) for name in ("browser", "battery")
    ]
    together = polars.concat(some)
    assert set(together["metric"]) == {"browser", "battery"}
    assert list(together.columns) == list(COLUMNS)
    assert together.schema == some[0].schema
    assert together.schema["told"] == polars.Boolean
    assert together.schema["since"] == polars.Date


def test_a_frame_of_pandas_keeps_flags_and_counts_that_may_be_missing(connected):
    frame = connected["startup_seconds"].estimate().frame("pandas", whole=True)
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert (kinds["told"], kinds["reports"], kinds["estimate"]) == (
        "boolean",
        "Int64",
        "float64",
    )
    assert frame["told"].isna().all()
    assert "told" not in connected["startup_seconds"].estimate().frame("pandas").columns


def test_a_picture_is_saved(connected, tmp_path):
    result = connected["browser"].estimate()
    result.save(tmp_path / "browser.svg")
    assert "Chrome" in (tmp_path / "browser.svg").read_text("utf-8")
    result.save(str(tmp_path / "browser.html"))
    assert "Chrome" in (tmp_path / "browser.html").read_text("utf-8")
    with pytest.raises(ParameterError, match=r"\.svg"):
        result.save(tmp_path / "browser.pdf")


def test_a_frame_takes_the_library_that_is_installed_and_says_how_to_install_one(
    connected, monkeypatch
):
    result, there = connected["browser"].estimate(), {"polars", "narwhals"}
    monkeypatch.setattr(frames, "find_spec", lambda name: name in there or None)
    assert type(result.frame()).__module__.startswith("polars")
    with pytest.raises(ImportError, match="a frame needs pandas: pip install pandas"):
        result.frame("pandas")
    there.discard("polars")
    with pytest.raises(ImportError, match="a frame needs pandas or polars: pip install pandas"):
        result.frame()
    there.add("pandas")
    there.discard("narwhals")
    with pytest.raises(ImportError, match=r"pip install 'deniable\[analysis\]'"):
        result.frame()


def test_an_unknown_backend_is_refused(connected):
    with pytest.raises(ParameterError, match="one of pandas, polars, pyarrow, got 'spark'"):
        connected["browser"].estimate().frame("spark")


def test_results_cannot_be_changed(connected):
    result = connected["browser"].estimate()
    with pytest.raises(AttributeError):
        result.answer = None


def test_every_field_of_a_row_has_a_type_of_a_column():
    (row,) = [Row(application="a", metric="m", question="estimate", measure="share",
                  since=date(2026, 1, 1), until=date(2026, 1, 2))]  # fmt: skip
    assert frames.frame(Row, [row], "polars", COLUMNS, whole=True).shape == (1, len(COLUMNS))
    assert frames.frame(Row, [], "pandas", COLUMNS, whole=True).shape == (0, len(COLUMNS))
