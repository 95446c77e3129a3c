from __future__ import annotations

import pytest

from deniable_shared.errors import PriorsError
from deniable_shared.review import read_priors
from tests.shared.review.registries import FLAG, category, registry

METRICS = registry(
    ("theme", category(3)),
    ("crashed", FLAG),
    ("word", 'type = "string"\nepsilon = 1\n'),
    ("plugins", 'type = "set"\nvalues = ["git", "vim", "latex"]\nepsilon = 1\n'),
    ("seconds", 'type = "number"\nrange = [0, 1]\nepsilon = 1\n'),
    (
        "flight",
        'type = "attributes"\nepsilon = 1\n[metrics.flight.attributes]\nlate = "boolean"\n'
        'carrier = { values = ["AA", "DL"], other = "another" }\n',
    ),
)


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "shares.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_priors(file, METRICS)

    return reading


def test_counts_and_shares_become_shares_of_the_values_in_their_order(read):
    counted = read("metric,item,count\ntheme,v1,30\ntheme,v0,10\ncrashed,true,1\ncrashed,false,3\n")
    assert counted == {"theme": ((0.25, 0.75, 0.0),), "crashed": ((0.75, 0.25),)}
    assert read("theme\tv0\t0.25\ntheme\tv1\t0.75\n")["theme"] == ((0.25, 0.75, 0.0),)
    assert read("theme;v0;1\r\n\r\ntheme;v0;1\r\n")["theme"] == ((1.0, 0.0, 0.0),)


def test_without_a_metric_the_lines_are_of_the_one_that_lists_their_items(read):
    assert read("item,share\nv0,0.5\nv1,0.5\n") == {"theme": ((0.5, 0.5, 0.0),)}
    assert read("true,1\nfalse,3") == {"crashed": ((0.75, 0.25),)}


def test_what_no_value_lists_counts_as_other(read):
    assert read("theme,v0,1\ntheme,neon,2\ntheme,sepia,1\n")["theme"] == ((0.25, 0.0, 0.75),)


def test_of_a_text_any_items_have_shares_and_of_a_record_each_attribute(read):
    assert read("word,a,1\nword,b,1\n")["word"] == ((0.5, 0.5),)
    lines = "late=true,1\nlate=false,1\ncarrier=AA,3\ncarrier=another,1\n"
    assert read(lines)["flight"] == ((0.5, 0.5), (0.75, 0.0, 0.25))


def test_of_whole_records_each_attribute_has_the_shares_that_they_add_up_to(read):
    lines = "late=true & carrier=AA,2\ncarrier=DL & late=true,1\nlate=false & carrier=AA,1\n"
    assert read(lines)["flight"] == ((0.25, 0.75), (0.75, 0.25, 0.0))


def test_numbers_that_a_simulation_needs_are_no_mistake(read):
    assert read("seconds,0.5,3\nseconds,2,1\ntheme,v0,1\n") == {"theme": ((1.0, 0.0, 0.0),)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theem,v0,1\n", "Did you mean 'theme'?"),
        ("theme,v0,nan\ntheme,v1,-1\n", "line 1: its last word must be a share or a count"),
        ("theme,v0,1e308\ntheme,v1,1\n", "line 1: its last word must be a share or a count in [0,"),
        ("theme,v0,1\ntheme,v1,-1\n", "line 2: its last word must be a share or a count"),
        ("crashed,maybe,1\n", "crashed: must have items such as 'false', got 'maybe'"),
        ("crashed,true,0.2\ncrashed,false,0.2\n", "must add up to 1, got 0.4"),
        ("crashed,true,0.6\ncrashed,false,0.9\n", "crashed: its shares must add up to 1, got 1.5"),
        ("crashed,true,1\ncrashed,false,0.5\n", "must add up to 1, got 1.5"),
        (
            "plugins,git,0.9\nplugins,vim,0.6\n",
            "plugins: its shares of whole sets, such as git & vim, must add up to 1, got 1.5",
        ),
        ("crashed,true,0\n", "must add up to 1, got 0"),
        (
            "flight,late=true & carrier=AA,1\nflight,late=true,1\n",
            "flight: must have items such as 'late=false'",
        ),
        ("flight,late=true & late=true,1\n", "flight: must have items such as 'late=false'"),
        ("flight,late=true,1\n", "flight.carrier: its shares must add up to 1, got 0"),
        ('theme,v0,"10,000"\ntheme,v1,1\n', "line 1: its last word must be a share or a count"),
        ("theme,v0,50%\ntheme,v1,1\n", "line 1: its last word must be a share or a count"),
        ("v0,50%\nv1,1\n", "line 1: its last word must be a share or a count"),
        ("theme,v0,many\ntheme,v1,1\n", "line 1: its last word must be a share or a count"),
        ("seconds,fast,1\n", "seconds: its items must be numbers, got 'fast'"),
        ("neither,1\nnor,2\n", "shares.csv: no metric lists all items"),
        ("item,share\n", "no line has an item and a share"),
        ("", "no line has an item and a share"),
        ("theme,v0,1\nv1,1\n", "line 2: must be metric, item and share"),
        ("theme,\x1b[2J,1\ncrashed,\x1b[2J,1\n", "<U+001B>"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_what_cannot_be_is_said_in_words(read, text, said):
    with pytest.raises(PriorsError) as raised:
        read(text)
    assert said in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_an_item_that_is_not_listed_is_one_problem(read):
    with pytest.raises(PriorsError) as raised:
        read("crashed,maybe,1\n")
    assert len(str(raised.value).splitlines()) == 1


def test_a_file_of_problems_is_a_few_lines(read):
    with pytest.raises(PriorsError) as raised:
        read("nobody,v0,1\n" * 5_000)
    assert len(str(raised.value).splitlines()) == 11
    assert "and 4,990 more" in str(raised.value)
