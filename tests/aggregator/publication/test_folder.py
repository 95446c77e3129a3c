"""A public page is made from the export alone, everywhere the same, and nothing in it acts."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from deniable_aggregator.media.publication import (
    FORMATS,
    digest_of_folder,
    folder_files,
    sheet,
    write_folder,
)
from deniable_aggregator.telling.publication.document import everything_registered
from deniable_aggregator.telling.publication.export import open_export
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_shared import __version__
from deniable_shared.errors import ParameterError
from tests.aggregator.publication import exported
from tests.aggregator.publication.exported import HOSTILE, PUBLIC_KEY
from tests.aggregator.publication.test_publishing import source

MADE = """
import sys
from pathlib import Path
from deniable_aggregator.telling.publication.export import open_export
from deniable_aggregator.media.publication import folder_files, write_folder
write_folder(folder_files(open_export(Path(sys.argv[1]).read_bytes())), Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def document():
    return exported.document()


@pytest.fixture(scope="module")
def files(document):
    return folder_files(open_export(document, PUBLIC_KEY))


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.service
def test_the_same_files_are_made_elsewhere(document, files, tmp_path):
    export = tmp_path / "export.json"
    export.write_bytes(document)
    for number, (seed, zone, language) in enumerate(
        (("1", "Asia/Kathmandu", "C"), ("2", "America/St_Johns", "de_DE.UTF-8"))
    ):
        folder = tmp_path / f"somewhere {number}" / "site"
        folder.parent.mkdir()
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "LC_ALL": language,
            "LANG": language,
        }
        subprocess.run(
            [sys.executable, "-c", MADE, str(export), str(folder)],
            check=True,
            env=environment,
            cwd=folder.parent,
        )
        assert contents(folder) == files


def test_the_folder_holds_what_the_page_names_and_is_checked_by_one_digest(files, tmp_path):
    page = files["index.html"].decode()
    named = set(re.findall(r'(?:href|src)="([^"#][^"]*)"', page))
    assert named <= files.keys()
    assert files.keys() - named == {"index.html", "history.json"}
    assert "--from history.json" in page
    assert json.loads(files["history.json"])["head"] in page
    folder = tmp_path / "site"
    write_folder(files, folder)
    assert contents(folder) == files
    lines = sorted(
        f"{digest}  {name}\n"
        for name, digest in ((name, sha256(content)) for name, content in files.items())
    )
    assert digest_of_folder(files) == sha256("".join(lines).encode())


def sha256(content):
    from hashlib import sha256 as digest

    return digest(content).hexdigest()


def test_a_folder_that_holds_anything_is_left_alone(files, tmp_path):
    (tmp_path / "mine").write_text("kept", "utf-8")
    with pytest.raises(ParameterError, match="folder must be a new or an empty folder"):
        write_folder(files, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    (tmp_path / "empty").mkdir()
    write_folder(files, tmp_path / "empty")
    assert contents(tmp_path / "empty") == files


def test_a_folder_that_cannot_be_written_is_not_left_in_part(files, tmp_path, monkeypatch):
    written = Path.write_bytes
    monkeypatch.setattr(
        Path, "write_bytes",
        lambda path, content: written(path, content) if path.suffix != ".svg" else 1 / 0,
    )  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        write_folder(files, tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_replaced_where_the_system_does_not_do_so(files, tmp_path, monkeypatch):
    def rename(path, target):
        assert not target.exists()
        shutil.move(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(Path, "replace", rename)
    write_folder(files, tmp_path)
    assert contents(tmp_path) == files


@pytest.mark.service
@pytest.mark.skipif(os.name == "nt", reason="the page prints commands of a shell")
def test_the_commands_that_the_page_prints_work_as_they_are_printed(files, tmp_path):
    folder = tmp_path / "a site"
    write_folder(files, folder)
    _, verify = files["index.html"].decode().split('id="verify"')
    key, again, compare, head = map(unescape, re.findall(r"(?s)<pre[^>]*>(.*?)</pre>", verify))
    assert key == PUBLIC_KEY
    install, page, diff = again.splitlines()
    assert install == f"pip install 'deniable[aggregator]=={__version__}'"
    said = [printed_by(command, folder) for command in (page, diff)]
    assert said[0].startswith("wrote ../again: ")
    assert said[1] == ""
    (folder / "metrics.toml").write_text(exported.SHIPPED, "utf-8")
    assert "registered, the newest version" in printed_by(compare, folder)
    assert "the chain of hashes is intact" in printed_by(head, folder)


def printed_by(command, folder):
    """What a command prints, which must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        check=False,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


class Elements(HTMLParser):
    """Collects elements, attributes and text of a page."""

    def __init__(self):
        super().__init__()
        self.names, self.attributes, self.text = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_has_no_script_and_loads_nothing_from_elsewhere(files):
    for name, content in files.items():
        if not name.endswith((".html", ".svg")):
            continue
        seen = Elements()
        seen.feed(content.decode())
        assert not seen.names & {"script", "iframe", "object", "embed", "img"}
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        outside = [v for n, v in seen.attributes if n in ("href", "src", "action") and ":" in v]
        assert outside == []
    assert b"url(" not in files["style.css"]
    assert b"@import" not in files["style.css"]
    assert b"default-src &#39;none&#39;; style-src &#39;self&#39;" in files["index.html"]


def test_texts_are_shown_as_they_are(files):
    seen = Elements()
    seen.feed(files["index.html"].decode())
    text = "\n".join(seen.text)
    for value in HOSTILE[:4]:
        assert value in text
    assert "49" not in re.findall(r"\{\{[^}]*\}\}|\b49\b", text)


def test_the_data_beside_the_page_are_the_numbers_of_the_export(files, document):
    made = {each.metric: each for each in open_export(document).export.metrics}
    for name, publication in made.items():
        rows = list(csv.DictReader(files[f"data/{name}.csv"].decode().splitlines()))
        assert [float(row["estimate"]) for row in rows] == [
            row.number.estimate for row in publication.rows
        ]
        (data,) = json.loads(files[f"data/{name}.json"])
        assert data["versions"][0]["version"] == publication.versions[0].version
    values = [
        row["value"] for row in csv.DictReader(files["data/plugin.csv"].decode().splitlines())
    ]
    assert "'=1+1" in values
    assert files["export.json"] == document


def test_the_page_says_what_is_published_and_how_to_check_it(files, document):
    opened = open_export(document)
    page = files["index.html"].decode()
    for each in opened.export.metrics:
        for version in each.versions:
            assert version.version in page
        assert "it makes even odds at most" in page
    assert "could be at most 95.26% sure which is true" in page
    assert "<p>One of 3 values, at most once a day: light, dark, system.</p>" in page
    assert opened.export.history.head in page
    assert PUBLIC_KEY in page
    assert "registered on 2024-10-04" in page
    assert "is policy, not privacy" in page


def test_what_is_true_of_all_metrics_stands_once_and_first(files, document):
    page, notes = unescape(files["index.html"].decode()), {}
    for each in open_export(document).export.metrics:
        for note in (*each.reading, *each.notes):
            notes.setdefault(note, []).append(each.metric)
    first_metric = page.index('class="metric"')
    alike = [note for note, metrics in notes.items() if len(metrics) == 2]
    assert len(alike) > 3
    for note, metrics in notes.items():
        assert page.count(f"<li>{note}</li>") == 1
        assert (page.index(f"<li>{note}</li>") < first_metric) == (len(metrics) == 2)


@pytest.mark.parametrize("minimum", [1_000, 50_000])
def test_a_note_that_counts_or_names_what_a_table_has_stays_there_if_others_have_the_same(minimum):
    made = publish(source(), "m", policy=Policy(minimum, 1))
    twice = [made, replace(made, metric="n")]
    page = unescape(sheet(twice))
    first_metric = page.index('class="metric"')
    for text in made.reading:
        assert page.count(f"<li>{text}</li>") == 1
        assert page.index(f"<li>{text}</li>") < first_metric
    for note in made.notes:
        assert page.count(f"<li>{note}</li>") == 2
        assert page.index(f"<li>{note}</li>") > first_metric
    assert any(note.startswith("“other (") for note in made.notes)
    assert ("No value reaches the minimum." in made.notes) == (minimum > 1_000)


def test_the_page_names_what_is_not_published_too(document, files):
    table = everything_registered(open_export(document).export)
    assert [(row.cells[0], row.cells[1], row.cells[2], row.cells[4]) for row in table.rows] == [
        ("theme", "category by grr, epsilon 2, every day", "2024-10-04", "published"),
        ("plugin", "category by grr, epsilon 3, every day", "2024-10-04", "published"),
        ("late", "boolean by rr, epsilon 0.5, every day", "2024-10-14",
         "not published here; removed on 2024-10-15"),
        ("seconds", "number by hybrid, epsilon 1.5, every week", "2024-10-14",
         "not published here"),
    ]  # fmt: skip
    page = files["index.html"].decode()
    assert "Everything this application was ever registered to ask" in page
    assert "not published here; removed on 2024-10-15" in page


def test_no_character_of_the_data_acts_on_a_terminal(document):
    made = open_export(document).export.metrics[0]
    row = replace(made.rows[0], label="li\u202eght\x1b[2J")
    for name in ("csv", "json", "md", "html"):
        text = FORMATS[name]([replace(made, rows=[row])])
        assert "\u202e" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_by_itself_has_its_notes_in_every_format_that_has_room(form, document):
    text = FORMATS[form](open_export(document).export.metrics)
    assert "other (2 items)" in text
    if form != "csv":
        assert "policy, not privacy" in text
    if form in ("html", "md"):
        assert "<script>alert" not in text
