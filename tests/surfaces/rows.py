"""The rows of what was printed: tables of terminals, of HTML and Markdown, and rows of pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import groupby, pairwise, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.etree import ElementTree as ET

from wcwidth import wcwidth

from tests.surfaces.ranges import NUMBER, ranges_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.surfaces.ranges import Range

_RULE: Final = re.compile(r"[─-]{20,}")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_ESTIMATE: Final = re.compile(r"estimate|[Ss]hare|value,|lift|change|by chance|times")
_BAR: Final = re.compile(r"[├┤━─●○│┿┼]|^[-=|:*o+ ]*[*o][-=|:*o+ ]*$")
_LINE: Final = re.compile(r"(?P<name>mean|[^:.]{1,60}:)(?= \S) (?P<said>\S.*)")
"""A number in a line of its own, such as "mean 62 ± 8" or "channel=beta: 20.1% ± 0.6% of all"."""

_SVG: Final = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_NAMESPACE: Final = "{http://www.w3.org/2000/svg}"


class PrintedRow(NamedTuple):
    """A row as it was printed.

    Attributes:
        names: what says what the row is about: its cells, and those that stand above where its own
            are empty.
        cells: its own.
        headings: above its own cells, as far as there are any.
    """

    names: tuple[str, ...]
    cells: tuple[str, ...]
    headings: tuple[str, ...] = ()

    def ranges(self) -> Iterator[Range]:
        """The ranges that it has, those of two columns too."""
        for cell in self.cells:
            yield from ranges_in(cell)
        cells = dict(zip(self.headings, self.cells, strict=False))
        if cells.get("low") and cells.get("high"):
            low, high = cells["low"].removesuffix("%"), cells["high"]
            yield from ranges_in(f"{low} to {high}")

    def estimates(self, unit: str) -> Iterator[str]:
        """The estimates that it has, as they are written, without the unit.

        Args:
            unit: of those that are wanted: "%", "points", "times" or nothing.
        """
        for cell, heading in zip_longest(self.cells, self.headings, fillvalue=""):
            match = re.match(
                rf"(?:estimate )?({NUMBER})(%?)((?: points?)?)(?: ?±| ?\+-| \[|$)", cell
            )
            if match is None or not _ESTIMATE.match(heading if self.headings else cell):
                continue
            own = match[3].strip(" s") or match[2]
            if own == (unit.strip("s") if unit in ("%", "points") else ""):
                yield match[1]


class Document(NamedTuple):
    """What a surface says in answer to a question.

    Attributes:
        text: all of it, as it is read.
        rows: of all of its tables and pictures.
    """

    text: str
    rows: Sequence[PrintedRow]


def terminal_document(text: str) -> Document:
    """What a command printed."""
    lines = text.splitlines()
    rows = [
        PrintedRow((match["name"].rstrip(":"),), (match["said"],))
        for line in lines
        if (match := _LINE.fullmatch(line))
    ]
    for at, line in enumerate(lines):
        if not _RULE.fullmatch(line):
            continue
        first = at
        while first and _is_heading(lines[first - 1]):
            first -= 1
        captions = [place for place in range(first, at) if lines[place].endswith(":")]
        first = max((place + 1 for place in captions), default=first)
        end = at + 1
        while end < len(lines) and _goes_on(lines, end):
            end += 1
        rows += _table(lines[first:at], lines[at + 1 : end])
    return Document(text, rows)


def _is_heading(line: str) -> bool:
    return bool(line.strip()) and not line.endswith(".") and not _LINE.fullmatch(line)


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """Whether a table goes on: a blank line may part its rows, but no text is among them."""
    later = next((line for line in lines[at:] if line.strip()), "")
    return bool(re.search(r"\S {2,}\S|^ {2,}|^\d{4}-\d\d-\d\d$", later)) or (
        bool(lines[at].strip()) and not lines[at].endswith((".", ":"))
    )


def _table(headings: Sequence[str], body: Sequence[str]) -> Iterator[PrintedRow]:
    """The rows of a table, whose columns are parted by two blanks in all lines."""
    wide = [_spread(line) for line in (*headings, *body)]
    width = max(map(len, wide), default=0)
    wide = [line.ljust(width) for line in wide]
    blank = [all(line[place] == " " for line in wide) for place in range(width)]
    columns: list[tuple[int, int]] = []
    place = 0
    for is_blank, run in groupby(blank):
        length = len(list(run))
        if not is_blank or (length == 1 and columns):
            joined = columns and columns[-1][1] == place
            start = columns.pop()[0] if joined else place
            columns.append((start, place + length))
        place += length
    cells = [
        tuple(line[first:last].replace("\0", "").strip() for first, last in columns)
        for line in wide
    ]
    above_rule = zip(*cells[: len(headings)], strict=True)
    heads = tuple(" ".join(" ".join(parts).split()) for parts in above_rule)
    above: tuple[str, ...] = ("",) * len(columns)
    days = ""
    body_cells = cells[len(headings) :]
    for at, own in enumerate(body_cells):
        if not any(own):
            continue
        above = tuple(mine or other for mine, other in zip(own, above, strict=True))
        if _DATE.search(own[0]):
            days = f"{days} {own[0]}" if days.endswith(" to") else own[0]
        shown = tuple("" if _BAR.search(cell) else cell for cell in own)
        names = *above, days, *_unfolded(body_cells, at)
        yield PrintedRow(names, shown, heads)


def _unfolded(cells: Sequence[tuple[str, ...]], at: int) -> Iterator[str]:
    """What the first cells of a line may be together with what was folded above or below them.

    Args:
        cells: of all lines.
        at: which line.
    """
    for one, other in ((at - 1, at), (at, at + 1)):
        if one >= 0 and other < len(cells):
            yield from (
                " ".join(pair)
                for pair in zip(cells[one][:3], cells[other][:3], strict=True)
                if not any(map(_DATE.search, pair))
            )


def _spread(line: str) -> str:
    """A line with one character for each column of the terminal."""
    return "".join(letter + "\0" * (wcwidth(letter) - 1) for letter in line)


class _Tables(HTMLParser):
    """The rows of all tables, and all text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[PrintedRow] = []
        self.text: list[str] = []
        self._headings: list[str] = []
        self._row: list[str] | None = None
        self._in_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "table":
            self._headings = []
        elif tag == "thead":
            self._in_head = True
        elif tag == "tr":
            self._row = []
        elif tag in ("td", "th") and self._row is not None:
            self._row.append("")
        elif tag in ("p", "li", "div", "h1", "h2", "h3", "br"):
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "thead":
            self._in_head = False
        elif tag == "tr" and self._row is not None:
            cells = tuple(" ".join(cell.split()) for cell in self._row)
            if self._in_head or not self._headings:
                self._headings = list(cells)
            else:
                self.rows.append(PrintedRow(cells, cells, tuple(self._headings)))
            self._row = None

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self._row:
            self._row[-1] += data


def html_document(text: str) -> Document:
    """A page, a report or what a notebook shows: its tables, and those of its pictures' rows."""
    tables = _Tables()
    tables.feed(_SVG.sub(" ", text))
    rows = list(tables.rows)
    said = ["".join(tables.text)]
    for picture in _SVG.findall(text):
        document = picture_document(picture)
        rows += document.rows
        said.append(document.text)
    return Document("\n".join(said), rows)


def picture_document(text: str) -> Document:
    """A picture: what stands beside its rows, and what its description says to those who listen."""
    root = ET.fromstring(text)
    said = ["".join(each.itertext()) for each in root.iter() if each.tag.startswith(_NAMESPACE)]
    rows = []
    for row in root.iter(f"{_NAMESPACE}g"):
        if row.get("class") != "row":
            continue
        texts = {each.get("class"): each.text or "" for each in row.iter(f"{_NAMESPACE}text")}
        title = row.findtext(f"{_NAMESPACE}title") or ""
        name = texts.get("label") or title.partition(": ")[0]
        for words in filter(None, (texts.get("range"), title.partition(": ")[2])):
            cells = (name, *words.split(", "))
            rows.append(PrintedRow(cells, cells))
    description = root.findtext(f"{_NAMESPACE}desc") or ""
    return Document("\n".join(said), [*rows, *_described(description)])


def _described(text: str) -> Iterator[PrintedRow]:
    """The rows of a picture over time: "dark: 2026-08-31: 28 to 32%; 2026-09-07: 25 to 29%."."""
    for name, moments in re.findall(
        r"(?:^|[.:] )([^.:]+): (\d{4}-\d\d-\d\d: .*?)(?=\. [^.:]+: \d{4}|\.(?: |$))", text
    ):
        for moment in moments.split("; "):
            day, _, words = moment.partition(": ")
            cells = (name.strip(), day, *words.split(", "))
            yield PrintedRow(cells, cells)


def markdown_document(text: str) -> Document:
    """A report or a publication in Markdown."""
    plain = re.sub(r"\\([\\`*_{}\[\]()#+\-.!|&<>~])", r"\1", text)
    rows: list[PrintedRow] = []
    headings: tuple[str, ...] = ()
    lines = plain.splitlines()
    for line, following in pairwise([*lines, ""]):
        if not line.startswith("|"):
            headings = ()
        elif re.fullmatch(r"[|:\- ]+", following):
            headings = _cells(line)
        elif headings and not re.fullmatch(r"[|:\- ]+", line):
            rows.append(PrintedRow(_cells(line), _cells(line), headings))
    return Document(plain, rows)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def text_of(rows: Iterable[PrintedRow]) -> str:
    """What stands in some rows, for a message."""
    return "\n".join(" | ".join(row.cells) for row in rows)
