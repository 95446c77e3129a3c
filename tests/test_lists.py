"""The lists of values that are shipped: what is in them, and what they were made of."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from deniable_aggregator.answers import lists
from deniable_shared.errors import ParameterError
from tools.lists import values
from tools.lists.sources import SOURCES

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "aggregator/deniable_aggregator/answers/lists"


@pytest.mark.parametrize("name", lists.names())
def test_every_value_of_a_list_can_be_asked_for(name):
    found = lists.load(name)
    assert len(set(found)) == len(found) > 50
    for value in found:
        assert value == unicodedata.normalize("NFC", value) == value.strip() != ""


def test_every_file_is_a_list_and_all_together_are_small():
    files = {path.stem: path.stat().st_size for path in SHIPPED.glob("*.txt")}
    assert files.pop("LICENSES") > 0
    assert set(files) == set(lists.names())
    assert sum(files.values()) < 60_000


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("emoji", ["👍", "❤️", "☀️", "👩‍⚕️", "🇩🇪", "1️⃣", "🏳️‍🌈"]),
        ("emoji-skin-tones", ["👍🏽", "✌🏿", "👩🏻‍⚕️", "🧑🏾‍🤝‍🧑🏾", "🤝🏼", "👩🏽‍❤️‍👨🏽"]),
        (
            "locales",
            ["de", "de-AT", "en-US", "zh-CN", "zh-Hant-TW", "pt-BR", "es-419"],
        ),
        ("countries", ["DE", "US", "XK", "GB"]),
        ("browsers", ["Chrome", "Mobile Safari", "Firefox", "Edge"]),
    ],
)
def test_values_have_the_form_that_applications_record(name, held):
    assert set(held) <= set(lists.load(name))


def test_lists_hold_nothing_that_is_another_spelling_or_no_country():
    assert not {"❤", "☀", "👍🏽"} & set(lists.load("emoji"))
    assert not values.NOT_COUNTRIES & set(lists.load("countries"))
    assert len(lists.load("countries")) == 250


def test_a_list_that_there_is_not_is_refused_with_those_there_are():
    with pytest.raises(ParameterError, match=r"list must be one of browsers, .*, got 'emojis'"):
        lists.load("emojis")
    with pytest.raises(ParameterError):
        lists.load("LICENSES")


def test_every_source_is_named_with_its_licence_and_hash():
    text = (SHIPPED / "LICENSES.txt").read_text()
    for source in SOURCES:
        assert f"{source.package} {source.version} (npm)" in text
        assert source.sha256 in text
        assert source.licence in text
        assert source.holder in text


def test_tags_get_a_form_without_the_script_that_a_country_writes_anyway():
    likely = {"zh": "zh-Hans-CN", "zh-TW": "zh-Hant-TW", "sr": "sr-Cyrl-RS", "az-IQ": "az-Arab-IQ"}
    tags = ["und", "zh-Hans-CN", "zh-Hant-TW", "zh-Hans", "sr-Latn-RS", "az-Arab-IQ"]
    made = values.locales(tags, likely)
    assert set(made) - set(tags) == {"zh", "zh-CN", "zh-TW", "az-IQ"}
    assert "und" not in made


def test_a_skin_tone_stands_for_the_variation_selector_and_colours_people_alone():
    toned = {"skin_tone_support": True}
    people = {
        "☝️": toned,
        "🧑": toned,
        "🤝": toned,
        "🧑‍🤝‍🧑": toned,
        "🐝": {"skin_tone_support": False},
    }
    found = values.with_skin_tones(people)
    assert found[::5] == ["☝🏻", "🧑🏻", "🤝🏻", "🧑🏻‍🤝‍🧑🏻"]
    assert len(found) == 20
