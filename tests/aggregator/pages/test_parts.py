"""The macros that all pages share, with texts that try to act."""

import re
from dataclasses import replace
from datetime import date
from xml.etree import ElementTree

import pytest

from deniable_aggregator.doors.pages import parts, rendering
from deniable_aggregator.doors.pages.parts import Card, Kept, Part, Picture, Sorting
from deniable_aggregator.doors.pages.rendering import address, changed
from deniable_aggregator.telling.document import Badge, Column, Link, Row, Table, text_table
from deniable_aggregator.telling.figure import Figure, Line, Lines, Moment
from deniable_aggregator.telling.interval import interval_of

EVIL = '"><script>x</script>\u202e'
SHOWN = "&#34;&gt;&lt;script&gt;x&lt;/script&gt;&lt;U+202E&gt;"


def made(call, **given):
    """What a macro makes, and that its elements are closed."""
    of = "table.html.jinja" if call.startswith(("table", "badge")) else "pages/parts.html.jinja"
    template = f'{{% import "{of}" as parts %}}{{{{ parts.{call} }}}}'
    text = rendering._ENVIRONMENT.from_string(template).render(**given)
    whole = re.sub(r"<(input|br|hr|meta)\b([^>]*)>", r"<\1/>", text)
    whole = re.sub(r"\s(hidden|selected|checked|required)(?=[\s>])", "", whole)
    ElementTree.fromstring(f"<page>{whole}</page>")
    return text


def over_time(title=EVIL):
    moment = Moment(
        since=date(2026, 1, 1),
        until=date(2026, 1, 7),
        interval=interval_of(0.5, 0.4, 0.6, level=0.95),
    )
    panel = Lines(
        axis=EVIL,
        unit="share",
        by="week",
        marks=((),),
        lines=(Line(label=EVIL, moments=(moment,)),),
    )
    return Figure(title=title, warnings=("never drawn",), panels=(panel,), level=0.95)


CARD = Card(
    title=EVIL,
    address=address("metric", EVIL),
    name="n",
    headline=EVIL,
    of=EVIL,
    figure=over_time(),
    badges=(Badge(EVIL, "changed"),),
    asides=(EVIL,),
)
TABLE = Table(
    name="values",
    caption=EVIL,
    columns=(
        Column(heading=EVIL, key="value", words=True),
        Column(heading="share", key="share"),
        Column(heading="change", words=True),
    ),
    rows=(
        Row(cells=(EVIL, "1%", EVIL), way="risen"),
        Row(cells=(Link(EVIL, address("metric", EVIL)), Badge(EVIL, "ok"), ""), way="risen"),
    ),
    left_out=EVIL,
    way=2,
)
SORTING = Sorting(table="values", address="/metric/m?top=3", by="-share")
PARTS = {
    "card(shown)": CARD,
    "table(shown)": TABLE,
    "figure(shown, 'a')": over_time(),
    "part(shown)": Part(
        "values",
        EVIL,
        texts=[EVIL],
        pictures=[Picture(over_time(), EVIL, broad=True)],
        tables=[TABLE],
        folded=[Part("folded", EVIL, tables=[TABLE])],
        sorting=SORTING,
    ),
    "warnings(shown)": [EVIL],
    "notice('error', shown)": EVIL,
    "state(shown)": parts.failed(EVIL),
    "empty(shown, shown, shown)": EVIL,
    "command(shown)": EVIL,
    "field('a', 'b', shown, hint=shown, error=shown, placeholder=shown)": EVIL,
    "field('a', 'b', shown, kind='textarea')": EVIL,
    "choice('a', 'b', [(shown, shown)], shown, hint=shown)": EVIL,
    "badge('ok', shown)": EVIL,
    "kept([shown], 'Delete')": Kept(name=EVIL, text=EVIL, place="/lists/a"),
}


@pytest.mark.parametrize("call", PARTS)
def test_texts_of_others_are_seen_and_do_not_act(call):
    text = made(call, shown=PARTS[call])
    assert "<script" not in text
    assert "U+202E" in text or call.startswith("field")  # which gives back what was typed
    assert not re.search(r"\sstyle=|\son\w+=", text)


def test_a_picture_leaves_out_what_its_page_says_and_has_its_numbers_as_a_table():
    text = made("figure(shown)", shown=over_time("what it is"))
    assert text.count("<svg") == 2
    assert "what it is" not in re.sub(r"<title>.*?</title>|<desc>.*?</desc>", "", text)
    assert not re.search(r">[^<]*never drawn", re.sub(r"<desc>.*?</desc>", "", text))
    assert '<td data-column="interval"><bdi>40 to 60%</bdi></td>' in text


def test_a_heading_sorts_by_its_column_and_then_the_other_way_round():
    text = made("table(shown, sorting)", shown=TABLE, sorting=SORTING)
    assert 'aria-sort="descending"' in text
    assert 'href="/metric/m?top=3&amp;sort=share#values"' in text
    assert 'href="/metric/m?top=3&amp;sort=value#values"' in text
    other = made("table(shown, sorting)", shown=TABLE, sorting=replace(SORTING, by="share"))
    assert 'href="/metric/m?top=3&amp;sort=-share#values"' in other


def test_what_has_become_of_a_number_has_its_sign_where_there_is_a_word_for_it():
    text = made("table(shown)", shown=TABLE)
    assert text.count('class="badge risen"') == 1
    assert text.count('class="badge ok"') == 1


def test_a_table_that_nobody_sorts_has_no_links_in_its_headings():
    text = made("table(shown)", shown=text_table("a", "Shares", ["value", "share"], [[EVIL, "1%"]]))
    assert SHOWN in text
    assert "sort=" not in text


def test_an_address_keeps_texts_from_acting_and_leaves_out_what_is_empty():
    assert address("metric", "a/b?c", since="", values=["x&y", "z"]) == (
        "/metric/a%2Fb%3Fc?values=x%26y&values=z"
    )
    assert changed("/a?x=1&y=2#t", x=None, z=3) == "/a?y=2&z=3#t"
    assert address() == "/"


@pytest.mark.parametrize(
    "state",
    [
        parts.no_metrics("flightdeck"),
        parts.no_reports(4000, "A share of 10%"),
        parts.suspicious("/health"),
        parts.all_excluded(),
        parts.stopped(date(2026, 10, 12)),
    ],
    ids=lambda state: state.title,
)
def test_every_state_says_what_to_do_next(state):
    text = made("state(shown)", shown=state)
    assert "<code>deniable " in text or "<a href=" in text
