"""The parts list of the wheel: CycloneDX JSON, from pyproject.toml, a table of licences and tools/.

    python -m tools.sbom            writes docs/reviewer/deniable.cdx.json
    python -m tools.sbom --check    says whether that file is what it would write

It has neither a time nor a serial number, so that the same sources make the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_shared import __version__
from tools import fonts
from tools.letters import sources as letters
from tools.lists import sources as lists

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.sources import Source

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = ROOT / "docs" / "reviewer" / "supply-chain.md"
OUTPUT: Final = TABLE.with_name("deniable.cdx.json")

NOT_INSTALLED: Final = ("benchmarks", "dev", "docs", "test")
"""Extras that nobody needs to run Deniable."""

_PROJECT: Final = f"pkg:pypi/deniable@{__version__}"
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]+\])?(.*)")


class Data(NamedTuple):
    """A file of data in the wheel.

    Attributes:
        folder: of sources, which is not part of the path in the wheel.
        path: in the wheel.
        licence: as SPDX writes it.
        sources: the packages that it was made of.
    """

    folder: str
    path: str
    licence: str
    sources: Sequence[Source]


_FONTS: Final = "deniable_aggregator/media/pictures/fonts"
_LISTS: Final = "deniable_aggregator/answers/lists"
DATA: Final = (
    Data("shared", "deniable_shared/letters/words.model", "Apache-2.0", letters.SOURCES),
    Data("aggregator", f"{_LISTS}/browsers.txt", "Apache-2.0", ()),
    Data("aggregator", f"{_LISTS}/countries.txt", "Unicode-3.0", (lists.COUNTRIES,)),
    Data("aggregator", f"{_LISTS}/emoji-skin-tones.txt", "MIT AND Unicode-3.0", (lists.EMOJI,)),
    Data("aggregator", f"{_LISTS}/emoji.txt", "MIT AND Unicode-3.0", (lists.EMOJI,)),
    Data("aggregator", f"{_LISTS}/locales.txt", "Unicode-3.0", (lists.LOCALES,)),
    Data("aggregator", f"{_FONTS}/bold.ttf", "OFL-1.1", (fonts.SOURCE,)),
    Data("aggregator", f"{_FONTS}/regular.ttf", "OFL-1.1", (fonts.SOURCE,)),
)
"""All data that is shipped.

`docs/appendix/letters.md`, `LICENSES.txt` and `OFL.txt` say the same in words.
"""


def main() -> int:
    """Writes the file, or says whether it is what would be written."""
    parser = argparse.ArgumentParser(prog="python -m tools.sbom", description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = parts_list()
    if not parser.parse_args().check:
        OUTPUT.write_text(text, "utf-8")
    elif OUTPUT.read_text("utf-8") != text:
        print(f"{OUTPUT.relative_to(ROOT)} is not what make sbom writes", file=sys.stderr)
        return 1
    return 0


def parts_list() -> str:
    """The text of the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages = list(_packages(project))
    data = list(map(_data, DATA))
    content = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": _PROJECT,
                "name": project["name"],
                "version": __version__,
                "description": project["description"],
                "licenses": _licences(project["license"]),
                "purl": _PROJECT,
                "components": data,
            }
        },
        "components": packages,
        "dependencies": [{"ref": _PROJECT, "dependsOn": [each["bom-ref"] for each in packages]}],
    }
    return json.dumps(content, indent=2) + "\n"


def requirements(project: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """What the project and its extras ask for.

    Args:
        project: the table of that name in pyproject.toml.

    Returns:
        By normalised name: the extra ("" for none) and the rest of the requirement, such as
        ("postgresql", "[binary]>=3.2"). The project's own extras are not among the names.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    for extra, listed in extras.items():
        for requirement in listed:
            match = _REQUIREMENT.fullmatch(requirement)
            if match is None:
                raise ValueError(f"requirement must be a name and versions, got {requirement!r}")
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            if name != project["name"]:
                rest = (match[2] or "") + match[3].strip()
                found.setdefault(name, []).append((extra, rest))
    return found


def licences() -> dict[str, str]:
    """Licences of dependencies, as SPDX writes them, from the tables of the document."""
    rows = re.findall(r"(?m)^\| ([\w-]+) \| ([\w, -]*) ?\| ([^|]+) \|", TABLE.read_text("utf-8"))
    return {name: licence for name, _, licence in rows}


def _packages(project: dict[str, Any]) -> Iterator[dict[str, Any]]:
    known = licences()
    for name, asked in requirements(project).items():
        needed = [(extra, rest) for extra, rest in asked if extra not in NOT_INSTALLED]
        if not needed:
            continue
        if name not in known:
            raise ValueError(f"{TABLE.relative_to(ROOT)} must have a row for {name}")
        yield {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}",
            "name": name,
            "scope": "required" if any(not extra for extra, _ in needed) else "optional",
            "licenses": _licences(known[name]),
            "purl": f"pkg:pypi/{name}",
            "properties": [{"name": _asking(extra), "value": rest} for extra, rest in needed],
        }


def _asking(extra: str) -> str:
    """The name of the property that says which versions are asked for."""
    return f"deniable:requires:{extra}" if extra else "deniable:requires"


def _data(data: Data) -> dict[str, Any]:
    content = (ROOT / data.folder / data.path).read_bytes()
    described: dict[str, Any] = {
        "type": "data",
        "bom-ref": data.path,
        "name": data.path,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
        "licenses": _licences(data.licence),
    }
    if data.sources:
        described["pedigree"] = {"ancestors": [_source(data, each) for each in data.sources]}
    return described


def _source(data: Data, source: Source) -> dict[str, Any]:
    purl = f"pkg:{source.registry}/{source.package.lower()}@{source.version}"
    return {
        "type": "library",
        "bom-ref": f"{data.path} from {purl}",
        "name": source.package,
        "version": source.version,
        "hashes": [{"alg": "SHA-256", "content": source.sha256}],
        "licenses": _licences(source.licence),
        "copyright": source.holder,
        "purl": purl,
    }


def _licences(licence: str) -> list[dict[str, Any]]:
    if " " in licence:
        return [{"expression": licence}]
    return [{"license": {"id": licence}}]


if __name__ == "__main__":
    sys.exit(main())
