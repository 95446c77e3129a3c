"""Words of languages, and how often they come: from running text, messages and lists of names."""

from __future__ import annotations

import html
import json
import re
import tarfile
import unicodedata
import zipfile
from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Counts = dict[str, Counter[str]]
"""By language (its primary subtag): how often each word comes."""

_INSIDE: Final = "'’-\u200c\u200d"
"""What stands inside words besides letters and marks."""

_DECLARED: Final = re.compile(r'<html[^>]* lang="([^"]+)"')
_TAG: Final = re.compile(r"<[^>]*>")
_MESSAGE: Final = re.compile(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', re.MULTILINE)
_PLACEHOLDER: Final = re.compile(r"%\(\w+\)\w|%\w|\{[^}]*\}|\\.|&\w+;|`[^`]*`")
_UNSPACED: Final = re.compile(
    "([\u2e80-\u2fdf\u3400-\u9fff\uf900-\ufaff]+)|([\u3041-\u309f]+)|([\u30a0-\u30ff]+)"
)
"""Chinese characters, hiragana and katakana, which are written without spaces between words."""
_LONGEST_UNSPACED: Final = 4
_LONGEST_NAME: Final = 24
_SHARED: Final = 40
"""A text in Latin letters that more languages have is not a translation."""
_LOCALE: Final = re.compile(r"/(?:main|annotations)/([a-z]+(?:-(?!Latn)[A-Z][a-z]+)?)/[^/]+$")
"""The file of a locale of a language, or of a script other than Latin; none of a country's."""
_ALIASES: Final = {"cmn": "zh", "nb": "no", "nn": "no", "iw": "he", "in": "id", "fil": "tl"}


def words(text: str) -> Iterator[str]:
    """The words of a text, in lower case and in normal form C."""
    for token in "".join(map(_or_space, unicodedata.normalize("NFC", text).lower())).split():
        word = token.strip(_INSIDE)
        if not word:
            continue
        runs = list(_UNSPACED.finditer(word))
        if not runs:
            yield word
        for run in runs:
            yield from _unspaced_words(run[0], chinese=run[1] is not None)


def _unspaced_words(run: str, *, chinese: bool) -> Iterator[str]:
    """What may be words in a run of one kind of character."""
    if chinese:
        yield from run
        yield from (run[place : place + 2] for place in range(len(run) - 1))
    if 1 < len(run) <= _LONGEST_UNSPACED or not chinese:
        yield run


@cache
def _or_space(character: str) -> str:
    letter = unicodedata.category(character)[0] in "LM" or character in _INSIDE
    return character if letter else " "


def of_declarations(path: Path) -> Counts:
    """The Universal Declaration of Human Rights, in all its translations."""
    counts: Counts = defaultdict(Counter)
    with tarfile.open(path) as archive:
        for _, body in _files(archive, "/declaration/"):
            text = body.decode()
            if found := _DECLARED.search(text):
                text = html.unescape(_TAG.sub(" ", text[text.index("<body>") :]))
                counts[primary(found[1])].update(words(text))
    return counts


def of_messages(path: Path) -> Counts:
    """The translated messages of a Python package."""
    counts: Counts = defaultdict(Counter)
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if found := re.search(r"/locale/([^/]+)/LC_MESSAGES/\w+\.po$", name):
                text = archive.read(name).decode()
                text = text[text.find("\n\n") :]
                for message in _MESSAGE.finditer(text):
                    joined = "".join(re.findall(r'"(.*)"', message[1]))
                    counts[primary(found[1])].update(words(_PLACEHOLDER.sub(" ", joined)))
    return counts


def of_stop_words(path: Path) -> Counts:
    """Lists of function words."""
    with tarfile.open(path) as archive:
        (body,) = [body for _, body in _files(archive, "/stopwords-iso.json")]
    return {
        primary(language): Counter({word for entry in listed for word in words(entry)})
        for language, listed in json.loads(body).items()
    }


def of_cldr(path: Path) -> tuple[Counts, Counts]:
    """The words in Unicode's names of things, and those names that are short.

    Names that are the same as in English are no translations, and count for English only.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    with tarfile.open(path) as archive:
        for member, body in _files(archive, ".json"):
            if found := _LOCALE.search(member):
                texts[primary(found[1])] += _texts(json.loads(body))
    english = set(texts["en"])
    counts: Counts = {}
    names: Counts = {}
    for language, listed in sorted(texts.items()):
        own = listed if language == "en" else [text for text in listed if text not in english]
        plain = [_PLACEHOLDER.sub(" ", text) for text in own]
        counts[language] = Counter(word for text in plain for word in words(text))
        short = (" ".join(text.split()) for text in plain)
        names[language] = Counter({text for text in short if 1 < len(text) <= _LONGEST_NAME})
    return counts, names


def translated(counts: Counts) -> Counts:
    """The same without what most languages share: names that nobody has translated."""
    shared = Counter(text for counted in counts.values() for text in counted)
    return {
        language: counted
        if language == "en"
        else Counter(
            {
                text: count
                for text, count in counted.items()
                if not (text.isascii() and shared[text] > _SHARED)
            }
        )
        for language, counted in counts.items()
    }


def _texts(data: Any) -> Iterator[str]:
    """All texts in JSON data that are no codes."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        yield from (text for each in data for text in _texts(each))
    elif isinstance(data, dict):
        for name, each in data.items():
            if name not in ("identity", "_type", "availableFormats", "intervalFormats"):
                yield from _texts(each)


def _files(archive: tarfile.TarFile, part: str) -> Iterable[tuple[str, bytes]]:
    """The names and contents of an archive's files whose names have the part."""
    for member in archive:
        if part in member.name and (opened := archive.extractfile(member)):
            yield member.name, opened.read()


def primary(language: str) -> str:
    """The language without script and region."""
    subtag = re.split("[-_@]", language)[0].lower()
    return _ALIASES.get(subtag, subtag)
