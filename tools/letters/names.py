"""Strings that are no words: names in code, types of files, addresses, numbers, emoji.

What no list has is made by rule from words, with a fixed seed. No list of the names of packages,
sites or people is used.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
import zipfile
from collections import Counter
from itertools import accumulate
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SEED: Final = 12
_MADE: Final = 20_000
"""How many strings are made by each rule."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,29}")
_PART: Final = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_ENDINGS: Final = (
    "com", "org", "net", "io", "de", "co.uk", "app", "dev", "info", "edu", "gov", "fr", "ru", "cn",
    "jp", "in", "com.br", "eu", "me", "tv",
)  # fmt: skip
_HOSTS: Final = ("", "", "", "", "www.", "www.", "api.", "mail.", "m.", "cdn.", "docs.")


def in_code(path: Path) -> Counter[str]:
    """The names in a Python package: in how many of its files each stands, and its modules."""
    counts: Counter[str] = Counter()
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".py"):
                counts.update({*_NAME.findall(archive.read(name).decode())})
                counts.update(
                    [PurePosixPath(name).name, name.removesuffix(".py").replace("/", ".")]
                )
    return counts


def types_of_files(path: Path) -> Counter[str]:
    """The types of files, such as "text/html", and their endings."""
    with tarfile.open(path) as archive:
        opened = archive.extractfile("package/db.json")
        assert opened is not None
        types = json.load(opened)
    endings = [ending for each in types.values() for ending in each.get("extensions", [])]
    common = [name for name in types if "vnd." not in name]
    return Counter([*common, *endings, *(f".{ending}" for ending in endings)])


def emoji(path: Path) -> Counter[str]:
    """The emoji and signs that Unicode has names for."""
    with tarfile.open(path) as archive:
        opened = archive.extractfile("package/annotations/en/annotations.json")
        assert opened is not None
        annotated = json.load(opened)["annotations"]["annotations"]
    return Counter(sign for sign in annotated if not sign.isascii())


def made(words: Counter[str], code: Counter[str]) -> dict[str, Counter[str]]:
    """Strings made by rule: hyphenated names, addresses, numbers and the like.

    Args:
        words: that are put together.
        code: names in code.
    """
    draw = random.Random(_SEED)  # noqa: S311  # not for privacy
    parts: Counter[str] = Counter()
    for name, count in sorted(code.items()):
        parts.update({part.lower(): count for part in _PART.findall(name)})
    parts.update({word: count for word, count in sorted(words.items()) if word.isascii()})
    listed = [part for part, _ in sorted(parts.items(), key=lambda each: (-each[1], each[0]))]
    shares = list(accumulate(1 / (rank + 20) for rank in range(len(listed))))

    def word() -> str:
        return draw.choices(listed, cum_weights=shares)[0]

    def hyphenated() -> str:
        return draw.choice("---._").join(word() for _ in range(draw.choice((1, 1, 2, 2, 2, 3))))

    def domain() -> str:
        name = word() + draw.choice(("", "", "-", "")) + draw.choice((word(), ""))
        return draw.choice(_HOSTS) + name + "." + _ENDINGS[min(int(draw.expovariate(0.35)), 19)]

    def mail() -> str:
        return f"{word()}{draw.choice(('.', '.', '_', ''))}{word()}@{domain()}"

    def digits() -> str:
        return str(int(10 ** (draw.random() * draw.choice((2, 4, 7)))))

    def version() -> str:
        numbers = [int(10 ** (draw.random() * 1.6)) - 1 for _ in range(draw.choice((2, 3, 3, 4)))]
        return draw.choice(("", "", "", "v")) + ".".join(map(str, numbers))

    def date() -> str:
        return f"{draw.randint(1990, 2035)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"

    def hexadecimal() -> str:
        return "".join(draw.choices("0123456789abcdef", k=draw.choice((4, 8, 8, 12, 16, 32))))

    def class_name() -> str:
        return "".join(word().title() for _ in range(draw.choice((2, 2, 3))))

    def dotted() -> str:
        return ".".join([*(word() for _ in range(draw.choice((1, 2, 2, 3)))), class_name()])

    def path() -> str:
        folders = "/".join(hyphenated() for _ in range(draw.choice((1, 2, 3))))
        return draw.choice(("/", "/", "https://" + domain() + "/")) + folders

    def product() -> str:
        return f"{word().title()} {draw.choice((word().title(), version(), digits()))}"

    rules: dict[str, Callable[[], str]] = {
        "hyphenated": hyphenated, "domain": domain, "mail": mail, "digits": digits, "date": date,
        "version": version, "hexadecimal": hexadecimal, "class_name": class_name, "dotted": dotted,
        "path": path, "product": product,
    }  # fmt: skip
    return {name: Counter(rule() for _ in range(_MADE)) for name, rule in rules.items()}
