"""The page of a metric: its answer first, numbers and files as those of the API."""

from __future__ import annotations

import re
import shlex
import subprocess
from html import unescape

import pytest
from click.testing import CliRunner

from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.doors.cli.estimate import change, estimate, series
from deniable_aggregator.doors.pages.metric.files import command_line, shell_line
from deniable_aggregator.doors.pages.metric.strings import ChosenValues, Strings
from deniable_aggregator.telling.ranges import range_in_words, share_in_words
from deniable_shared.characters import visible_lines
from tests.aggregator.service import REGISTRY, TODAY, serving, upload

pytestmark = pytest.mark.one_store

DAYS = "since=2024-10-03&until=2024-10-04"
BEFORE = "2024-09-26..2024-09-27"
PAGE = f"/metric/theme?{DAYS}&before={BEFORE}"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Two days of themes, and two a week later, when dark became popular."""
    with serving(tmp_path_factory.mktemp("page") / "store.db") as running:
        assert running.register().status_code == 200
        for epoch, reports in (
            (TODAY - 8, [400, 200, 180]), (TODAY - 7, [400, 200, 180]),
            (TODAY - 1, [200, 400, 180]), (TODAY, [200, 400, 180]),
        ):  # fmt: skip
            body = b"".join(bytes([value]) * count for value, count in enumerate(reports))
            assert running.send(upload(body, epoch=epoch)).status_code == 204
        running.running.inbox_fold.fold(seconds=60)
        running.sign_in()
        yield running


def shown(service, path=PAGE, status=200):
    answer = service.ask(path)
    assert answer.status_code == status, answer.text
    return answer.text


def words(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_answer_comes_before_pictures_and_tables(service):
    text = shown(service)
    order = ['class="finding"', 'class="changes"', "<figure", 'id="values"', 'id="privacy"']
    assert sorted(order, key=text.index) == order
    assert "Light fell from" in words(text) or "light fell from" in words(text)


def test_numbers_of_page_and_drawing_are_those_of_the_api(service):
    text = shown(service)
    table = words(text[text.index('id="values"') :])
    drawing = words(text[: text.index('id="values"')])
    answer = service.ask(f"/v1/metrics/theme/estimate?{DAYS}").get_json()
    assert len(answer["numbers"]) == 3
    for row in answer["numbers"]:
        within = range_in_words(row["low"], row["high"])
        share = share_in_words(row["estimate"], row["low"], row["high"])
        assert f"{row['value']} {within} {share}" in table
        assert within in drawing


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("estimate", DAYS),
        ("change", f"before={BEFORE}&after=2024-10-03..2024-10-04"),
        ("series", "since=2024-09-26&until=2024-10-04"),
    ],
)
@pytest.mark.parametrize("ending", ["json", "csv", "jsonl", "parquet"])
def test_files_have_the_bytes_of_the_api(service, question, query, ending):
    path = PAGE.replace("theme?", f"theme/export.{ending}?question={question}&")
    of_page = service.ask(path)
    suffix = "" if ending == "json" else f".{ending}"
    of_api = service.ask(f"/v1/metrics/theme/{question}{suffix}?{query}")
    assert of_page.status_code == of_api.status_code == 200
    assert of_page.data == of_api.data
    assert of_page.headers["Content-Disposition"].endswith(f"theme-{question}.{ending}")


def test_pictures_and_markdown_are_files_too(service):
    picture = service.ask(PAGE.replace("theme?", "theme/export.svg?question=change&"))
    assert picture.data.startswith(b"<svg")
    markdown = service.ask(PAGE.replace("theme?", "theme/export.md?")).text
    assert markdown.startswith("## Which colour theme is active")
    assert "| value |" in markdown


def test_a_file_of_a_wrong_choice_is_refused(service):
    for path in ("export.csv?since=never", "export.doc", "export.csv?question=why"):
        assert service.ask(f"/metric/theme/{path}").status_code in (400, 404)


def test_the_page_names_commands_that_ask_the_same(service):
    commands = [
        shlex.split(unescape(line))
        for line in re.findall(r"<code>(deniable [^<]*)</code>", shown(service))
    ]
    assert [each[1] for each in commands] == ["estimate", "change", "series"]
    for each, command in zip(commands, (estimate, change, series), strict=True):
        ran = CliRunner().invoke(command, [*each[2:], "--server", "http://127.0.0.1:1"])
        assert "No such option" not in ran.output
        assert "Invalid value" not in ran.output


def test_the_command_about_strings_names_their_lists_and_pipes_typed_values():
    chosen = ChosenValues(
        lists=ValueLists(), names=("emoji", "saved:mine"), typed="a\n'b c", problems=()
    )
    strings = Strings(asked=None, looked=None, chosen=chosen, saved=None)
    command = command_line("estimate", "emoji", EstimateQuery(top=5), strings)
    values, _, asked = command.partition(" | ")
    assert shlex.split(values) == ["printf", r"%s\n", "a", "'b c"]
    assert asked == (
        "deniable estimate emoji --top 5 --candidates list:emoji --candidates saved:mine "
        "--candidates -"
    )


@pytest.mark.service
def test_a_copied_command_acts_on_no_terminal_and_names_the_very_values():
    hostile = ["\x1b[201~rm -rf ~", "a\u202eb'\\", "tab\t7", "it's", "café", "\x9b2J\x7f1"]
    line = shell_line(["printf", r"%s\n", *hostile])
    assert visible_lines(line) == line
    assert "\n" not in shell_line(["a\nb"])
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(f"{each}\n" for each in hostile)


def test_a_wrong_choice_is_answered_with_a_whole_page(service):
    text = shown(service, f"{PAGE}&by=weak", 400)
    assert "by must be one of day, week, month" in words(text)
    assert 'class="finding"' in text
    assert "2024-09-26..2024-09-27" in text


def test_a_choice_that_the_metric_has_no_field_for_is_refused_above_the_form(service):
    text = words(shown(service, f"{PAGE}&segment=beta", 400))
    assert "segment must be left out: there is none, got 'beta'" in text


def test_headings_sort_and_keep_all_other_choices(service):
    text = shown(service)
    link = unescape(re.search(r'<a href="([^"]*)">change, 95% interval</a>', text)[1])
    assert "before=2024-09-26..2024-09-27" in link
    assert "sort=-change" in link
    table = shown(service, link).partition('id="values"')[2].partition("</table>")[0]
    values = re.findall(r'<th scope="row"><a [^>]*><bdi>(\w+)</bdi></a></th>', table)
    assert values == ["dark", "system", "light"]


def test_an_unknown_metric_is_guessed(service):
    text = shown(service, "/metric/theem", 404)
    assert "Did you mean theme?" in text
    assert 'href="/metric/theme"' in text


def test_a_metric_without_reports_says_what_to_wait_for(service):
    text = shown(service, "/metric/late")
    assert "No reports yet" in text
    assert "A value that 1% have needs about" in text
    text = shown(service, "/metric/theme?since=2024-09-01&until=2024-09-05&compare=none")
    assert "No reports in these days" in text
    assert "since=2024-09-30" in text


def test_reports_that_have_stopped_are_said_with_the_last_days(service):
    service.clock.epoch = TODAY + 60
    service.sign_in()
    try:
        text = shown(service, "/metric/theme?period=7d")
    finally:
        service.clock.epoch = TODAY
        service.sign_in()
    assert "There are no reports from 2024-10-05 on" in text
    assert "Show the last days with reports, 2024-09-28 to 2024-10-04" in text


def test_days_that_have_no_reports_yet_are_not_said_to_be_silence(service):
    service.clock.epoch = TODAY + 1
    service.sign_in()
    try:
        text = shown(service, "/metric/theme?since=today&compare=none")
    finally:
        service.clock.epoch = TODAY
        service.sign_in()
    assert "No reports in these days" in text
    assert "stopped" not in text


def test_a_metric_without_any_reports_of_the_days_before_is_shown_without_a_change(service):
    text = words(shown(service, "/metric/theme?since=2024-09-26&until=2024-10-04"))
    assert "Nothing is compared" in text
    assert "of reports" in text


def test_texts_of_others_stay_texts(tmp_path):
    evil = "<script>alert(1)</script>"
    registry = REGISTRY.replace("Which colour theme is active", evil)
    with serving(tmp_path / "store.db") as service:
        assert service.register(registry).status_code == 200
        service.sign_in()
        text = shown(service, "/metric/theme?since=%22%3E%3Cscript%3E", 400)
    assert "<script>alert" not in text
    assert '"><script>' not in text
