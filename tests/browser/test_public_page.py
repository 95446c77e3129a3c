"""The public page of the deployment, made with the commands and opened as files."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.browser.visitor import tab
from tests.command_line import deniable

METRICS = ("theme", "plugin", "startup_seconds", "latency", "features", "crash")


@pytest.fixture(scope="module")
def site(home, deployment, tmp_path_factory):
    """The folder."""
    folder = tmp_path_factory.mktemp("published")
    run = CliRunner(env={"DENIABLE_SERVER": home, "DENIABLE_TOKEN": deployment.tokens["read"]})
    key, export, made = folder / "key.pem", folder / "export.json", folder / "site"
    keygen = run.invoke(deniable, ["remote", "keygen", "--out", str(key)])
    public_key = keygen.stdout.split('"')[1]
    people = folder / "people.csv"
    people.write_text("light,200\ndark,100000\n", "utf-8")
    options = ["--minimum", "10", "--population", str(people)]
    signed = ["--export", str(export), "--key", str(key)]
    done = run.invoke(deniable, ["publish", *METRICS, *options, *signed])
    assert done.exit_code == 3, done.output  # somebody has sent made-up reports
    assert "Suspicious: the reports of theme" in done.stderr
    done = run.invoke(
        deniable,
        ["publish", "--from", str(export), "--page", str(made), "--public-key", public_key],
    )
    assert done.exit_code == 0, done.output
    return made


def test_the_public_page_fits_every_window_and_has_no_barrier(browser, site, screenshots):
    with tab(browser, site.as_uri()) as opened:
        opened.page.goto(f"{site.as_uri()}/index.html")
        assert opened.page.title() != "owned"
        assert opened.page.evaluate("getComputedStyle(document.body).margin") == "0px"
        for details in opened.page.locator("summary").all():
            details.click()
        opened.check_layout(screenshots, "public-page")
        opened.check_access()
        light = opened.page.get_by_role("row").filter(has_text="light")
        assert "(above 50%)" in light.first.inner_text()


def test_a_table_with_people_is_seen_whole(browser, site):
    with tab(browser, site.as_uri()) as opened:
        opened.page.goto(f"{site.as_uri()}/index.html")
        table = opened.page.locator(".table.wide").first
        assert table.locator("td").last.get_attribute("data-column") == "presence"
        for width in (1280, 390):
            opened.page.set_viewport_size({"width": width, "height": 900})
            assert table.evaluate("each => each.scrollWidth - each.clientWidth") <= 0


def test_a_printed_public_page_shows_what_is_folded(browser, site):
    with tab(browser, site.as_uri()) as opened:
        opened.page.goto(f"{site.as_uri()}/index.html")
        canonical = opened.page.locator("details pre").first
        assert not canonical.is_visible()
        opened.page.emulate_media(media="print")
        assert canonical.is_visible()
