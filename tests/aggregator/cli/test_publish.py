"""``deniable publish``, against a server in this process, and the page of its export."""

from __future__ import annotations

import csv
import json

import pytest
from msgspec.structs import replace

from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.telling.publication import publish as publishing
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import APPLICATION, TODAY, upload

pytestmark = pytest.mark.one_store


@pytest.fixture
def publish(run, url):  # noqa: F811  the fixture
    base, service = url
    assert service.register().status_code == 200
    reports = b"\x00" * 900 + b"\x01" * 500 + b"\x02" * 300
    for epoch in (TODAY - 1, TODAY):
        assert service.send(upload(reports, epoch=epoch)).status_code == 204
    assert service.send(upload(bytes(40), metric="emoji")).status_code == 204
    service.running.inbox_fold.fold(seconds=60)
    return lambda *arguments: run(
        "publish", *map(str, arguments), "--server", base, "--token", service.read
    )


def test_a_table_is_printed_with_what_must_be_known(publish):
    done = publish("theme")
    assert done.exit_code == 0, done.output
    assert "| light | " in done.stdout
    assert "policy, not privacy" in done.stdout
    assert "at least 100 devices of one day" in done.stdout


def test_a_file_is_written_in_the_format_of_its_name(publish, tmp_path):
    for name in ("csv", "json", "md", "html"):
        out = tmp_path / f"theme.{name}"
        done = publish("theme", "-o", out)
        assert done.exit_code == 0, done.output
        text = out.read_text("utf-8")
        assert "light" in text
        if name == "csv":
            assert {row["metric"] for row in csv.DictReader(text.splitlines())} == {"theme"}
            assert "policy, not privacy" in done.stderr
        if name == "json":
            assert json.loads(text)[0]["minimum"] == 100
    assert "must end in .csv" in publish("theme", "-o", tmp_path / "theme.xlsx").stderr


def test_too_few_reports_are_refused_and_it_is_said_how_many_there_are(publish):
    done = publish("theme", "--reports-minimum", 10_000)
    assert done.exit_code == 1
    assert "theme has 3,400 reports in these days; with fewer than 10,000 nothing" in done.stderr
    assert "no reports" in publish("late").stderr.lower()


def test_a_population_adds_two_columns_and_a_warning(publish, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("light,1000\ndark,5000\n", "utf-8")
    done = publish("theme", "--population", people)
    assert "| people (k) | presence |" in done.stdout
    assert "% (above 50%)" in done.stdout
    done = publish("theme", "--population", people, "-o", tmp_path / "theme.html")
    assert "theme: Of the 1,000 people of light, up to" in done.stderr
    assert "not among the values shown" not in done.stderr
    people.write_text("light,1000\nDark,5000\n", "utf-8")
    assert "not among the values shown: Dark" in publish("theme", "--population", people).stderr
    people.write_text("Light,1000\n", "utf-8")
    assert "none of the values that are shown" in publish("theme", "--population", people).stderr


def test_whoever_publishes_is_told_that_a_key_differs(publish, monkeypatch):
    made = publishing.publish
    uneven = lambda *asked: replace(made(*asked), verdict="uneven")  # noqa: E731
    monkeypatch.setattr(publishing, "publish", uneven)
    done = publish("theme")
    assert done.exit_code == 3
    assert "some keys of theme answer differently" in done.stderr
    assert "deniable health" in done.stderr


def test_strings_need_a_list(publish):
    done = publish("emoji")
    assert done.exit_code == 1
    assert "candidates" in done.stderr


def test_an_export_becomes_a_page_that_only_the_publisher_could_have_made(
    publish,
    run,  # noqa: F811  the fixture
    tmp_path,
):
    key, export = tmp_path / "key.pem", tmp_path / "export.json"
    made = run("remote", "keygen", "--out", str(key))
    public_key = made.stdout.split('"')[1]
    done = publish("theme", "--export", export, "--key", key, "--page", tmp_path / "own")
    assert done.exit_code == 0, done.output
    assert "(3 entries)" in done.stdout
    page = lambda name, *options: run(  # noqa: E731
        "publish", "--from", str(export), "--page", str(tmp_path / name), *options
    )
    done = page("site", "--public-key", public_key)
    assert done.exit_code == 0, done.output
    assert "signed by the key that was given" in done.stdout
    assert "Whose key that is was not checked" in page("again").stderr
    pages = {(tmp_path / name / "index.html").read_bytes() for name in ("own", "site", "again")}
    assert len(pages) == 1
    assert "folder must be a new or an empty folder" in page("site").stderr
    export.write_bytes(export.read_bytes().replace(b'"reports":3400', b'"reports":4400'))
    done = page("third", "--public-key", public_key)
    assert done.exit_code == 1
    assert "the export was changed" in done.stderr
    assert not (tmp_path / "third").exists()


def test_reports_that_were_left_out_are_said_in_every_format_and_their_key_in_none(
    publish,
    url,  # noqa: F811  the fixture
):
    _, service = url
    partner = create_key(
        service.store, scope="batch", application=APPLICATION, label="partner build", today=TODAY
    )
    sent = service.send(upload(b"\x02" * 1_500, epoch=TODAY - 1), key=partner)
    assert sent.status_code == 204
    service.running.inbox_fold.fold(seconds=60)
    said = "1,500 reports from 1 source were left out by the publisher."
    for form in ("md", "json", "html", "csv"):
        done = publish("theme", "--without-key", "partner build", "--format", form)
        assert done.exit_code == 0, done.output
        assert said in (done.stderr if form == "csv" else done.stdout)
        assert "partner" not in done.output
    assert "left out" not in publish("theme", "--format", "csv").stderr.partition("Version")[0]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (("--export", "x.json"), "--export and --key are given together"),
        (("--page", "site"), "--page is made of an export"),
        (("--public-key", "x"), "--public-key is for --from"),
        (("--from", __file__, "--page", "site"), "--from is given with --page, --public-key and"),
        (("--format", "pdf"), "--format must be one of csv, json, md, html, got 'pdf'"),
        (("--minimum", "0"), "must be an integer of at least 1, got '0'"),
        (("theme",), "METRIC must be different ones"),
    ],
)
def test_options_that_make_no_sense_are_refused(publish, options, wrong):
    done = publish("theme", *options)
    assert done.exit_code == 2
    assert wrong in done.stderr


def test_a_metric_or_an_export_must_be_given(publish):
    done = publish()
    assert done.exit_code == 2
    assert "METRIC must be given, or --from with an export" in done.stderr
