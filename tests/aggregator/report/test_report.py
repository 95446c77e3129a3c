"""A report of a real service: four metrics, one with forged reports, and texts that are markup."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.asking import AskingError, HttpSource
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.media.report import write_report
from deniable_shared import registry, wire
from deniable_shared.errors import ParameterError
from tests.aggregator.fakes import bits_of_oue
from tests.aggregator.listening import listening
from tests.aggregator.service import APPLICATION, REGISTRY, TODAY, serving, upload
from tests.command_line import deniable

MARKUP = "<script>alert(1)</script>|`*[a](https://evil.example)"
LABEL = '"><img src=x onerror=alert(2)>'
METRICS = f"""
[metrics.screen]
type = "category"
description = "Screen <b onclick='a()'>& {MARKUP}"
values = ["{MARKUP}", "b", "c", "d", "e", "f", "g", "h"]
complete = true
epsilon = 1.0
mechanism = {{ name = "oue" }}
[metrics.unused]
type = "boolean"
epsilon = 1.0
"""
SPEC = registry.parse(REGISTRY + METRICS).metrics["screen"].spec
SINCE, UNTIL = day_of(TODAY - 2), day_of(TODAY - 1)
DAYS = ("--since", str(SINCE), "--until", str(UNTIL))


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A source and variables of its server; the theme has changed, and screens are forged."""
    with serving(tmp_path_factory.mktemp("reported") / "store.db") as service:
        assert service.register(REGISTRY + METRICS).status_code == 200
        generator = np.random.default_rng(3)

        def send(token, payload, epoch):
            part = wire.Part(SPEC.digest, epoch, payload)
            body = wire.encode(wire.Upload(generator.bytes(wire.ID_BYTES), (part,)))
            assert service.send(body, key=token).status_code == 204

        for days_ago in (9, 8, 2, 1):
            bits = bits_of_oue(SPEC, generator.choice(8, 1_500), generator)
            send(service.batch, np.packbits(bits, axis=1).tobytes(), TODAY - days_ago)
            dark = 900 if days_ago < 3 else 300
            payload = b"\x01" * dark + b"\x00" * 700 + b"\x02" * 400
            assert service.send(upload(payload, epoch=TODAY - days_ago)).status_code == 204
        forger = create_key(
            service.store, scope="batch", application=APPLICATION, label=LABEL, today=TODAY
        )
        send(forger, b"\xff" * 500, TODAY - 1)
        service.running.inbox_fold.fold(seconds=60)
        with listening(service.app) as url:
            source = HttpSource(url, service.read)
            yield source, {"DENIABLE_SERVER": url, "DENIABLE_TOKEN": service.read}
            source.close()


@pytest.fixture(scope="module")
def written(asked, tmp_path_factory):
    """The texts of the report, by form, and its answers."""
    folder = tmp_path_factory.mktemp("written")
    texts = {}
    for form in ("html", "md"):
        path = folder / f"report.{form}"
        answers = write_report(asked[0], path, since=SINCE, until=UNTIL)
        texts[form] = path.read_text("utf-8")
    return texts, answers


class Page(HTMLParser):
    """What is in a page: elements, their attributes, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_the_page_says_warnings_then_changes_then_every_metric(written):
    text = Page(written[0]["html"]).text
    parts = ["Read this first", "not all those of honest devices", "What has changed", "dark rose"]
    parts += [
        "Which colour theme is active",
        "Health of the reports",
        "Not answered",
        "strings are counted",
    ]
    parts += ["Fake reports", "What devices gave away"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_markup_of_others_is_text_in_the_page(written):
    page = Page(written[0]["html"])
    tags = {tag for tag, _ in page.elements}
    names = {name for _, attributes in page.elements for name in attributes}
    assert tags.isdisjoint({"script", "img", "b", "iframe", "object", "foreignobject", "use"})
    assert not {name for name in names if name.startswith("on")} | names & {"src", "style"}
    links = {attributes["href"] for tag, attributes in page.elements if tag == "a"}
    anchors = {f"#{attributes['id']}" for _, attributes in page.elements if "id" in attributes}
    assert links <= anchors
    assert MARKUP in page.text


def test_the_policy_allows_the_page_its_own_style_and_nothing_else(written):
    page = Page(written[0]["html"])
    policy = next(a["content"] for t, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert sum(tag == "style" for tag, _ in page.elements) == 1


def test_markup_of_others_is_text_in_markdown(written):
    text = written[0]["md"]
    assert "\\<script\\>" in text
    assert "<" not in text.replace("\\<", "")
    assert "](http" not in text.replace("\\]", "")
    rows = [line for line in text.splitlines() if "alert(1)" in line and line.startswith("|")]
    assert rows
    for line in rows:
        head = _head_of(text, line)
        assert line.replace("\\|", "").count("|") == head.count("|")


def _head_of(text, line):
    """The headings of the table that a line is in."""
    lines = text.splitlines()
    place = lines.index(line)
    while lines[place - 1].startswith("|"):
        place -= 1
    return lines[place]


def test_a_forged_metric_is_suspicious_and_its_change_is_not_to_be_relied_on(written):
    texts, answers = written
    assert answers.suspicious == ["screen"]
    assert answers.failures == []
    assert "**Careful:** The reports of" in texts["md"]


def test_what_was_not_asked_is_said_with_the_reason(written):
    text = written[0]["md"].partition("## Not answered")[2]
    assert "**emoji**: strings are counted only for values that somebody lists" in text
    assert "**unused**" in text


def test_every_number_of_a_table_has_its_interval(written):
    lines = written[0]["md"].splitlines()
    heads = [line for line in lines if line.startswith("| value |")]
    assert heads
    assert all("95% interval" in line for line in heads)


def run(variables, *arguments):
    return CliRunner(env=variables).invoke(deniable, ["report", *map(str, arguments)])


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 3), (("--metric", "theme"), 0), (("--without-key", LABEL), 0)],
    ids=["suspicious", "one metric", "without the forger"],
)
def test_the_exit_status_holds_back_what_is_suspicious(asked, tmp_path, options, status):
    out = tmp_path / "week.html"
    done = run(asked[1], out, *DAYS, *options)
    assert done.exit_code == status, done.output
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert ("Suspicious: the reports of screen" in done.stderr) == (status == 3)


def test_a_failed_question_is_named_and_the_others_are_answered(asked, tmp_path, monkeypatch):
    ask = HttpSource.ask

    def fail(source, question, *more):
        if question.name == "series":
            raise AskingError("no answer within 60 seconds", "unreachable")
        return ask(source, question, *more)

    monkeypatch.setattr(HttpSource, "ask", fail)
    out = tmp_path / "week.md"
    done = run(asked[1], out, *DAYS, "--metric", "theme")
    assert done.exit_code == 1
    assert "Not answered: theme, series: no answer within 60 seconds" in done.stderr
    assert "dark rose from" in out.read_text("utf-8")


def test_without_a_server_no_file_is_written(tmp_path):
    out = tmp_path / "week.html"
    done = run({"DENIABLE_SERVER": "http://127.0.0.1:1", "DENIABLE_TOKEN": "t"}, out, *DAYS)
    assert done.exit_code == 1
    assert "cannot be reached" in done.output
    assert list(tmp_path.iterdir()) == []


def test_a_metric_that_is_not_there_is_met_with_the_one_that_was_meant(asked, tmp_path):
    with pytest.raises(ParameterError, match="Did you mean 'theme'"):
        write_report(asked[0], tmp_path / "x.md", since=SINCE, until=UNTIL, metrics=["them"])


def test_a_report_can_do_without_comparison(asked, tmp_path):
    path = tmp_path / "x.md"
    write_report(asked[0], path, since=SINCE, until=UNTIL, metrics=["theme"], compare=False)
    text = path.read_text("utf-8")
    assert "What has changed" not in text
    assert "before | after" not in text


@pytest.mark.parametrize("words", [("week.txt",), ("week.html", "--since", "today")])
def test_mistakes_are_refused_before_anything_is_asked(words):
    done = run({"DENIABLE_SERVER": "http://127.0.0.1:1", "DENIABLE_TOKEN": "t"}, *words)
    assert done.exit_code == 2, done.output
