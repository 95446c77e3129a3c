"""``deniable model train``: makes a model of letters from public text of one kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.commands.ascii import printable
from deniable_shared.commands.mistakes import read_file
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import wrapped
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import canonical
from deniable_shared.letters import LetterCode, Model, shipped_model
from deniable_shared.letters.code import MAX_LONGEST
from deniable_shared.letters.training import fitted
from deniable_shared.replaced_file import replaced_file
from deniable_shared.value_lists import lines_of, notices

if TYPE_CHECKING:
    import argparse

LEAST_EXAMPLES: Final = 50
_HELD_OUT: Final = 10
"""One example in so many is held out, to measure how well the model codes strings that it was not
trained on."""

_ABOUT: Final = """\
Makes a model of letters from the lines of FILE, for metrics with
discover = true.

A metric that discovers strings codes each string in a few bits. The fewer bits
a string takes, the fewer devices it takes to find it. The model that comes with
Deniable is for words of all languages, names and addresses. If the strings of a
metric are of a kind of their own, such as routes or the names of plug-ins, a
model made of some hundred examples of that kind makes them shorter.

Each line of FILE is one string, in UTF-8. A tab and a number after it say how
often it comes. The order of the lines does not matter. Strings unlike the
examples keep a code: each of their letters takes a few bits more at most.

The examples must be PUBLIC: every device and the server get the model, and
what it was made of can be guessed from it. Never train a model on what users
recorded, and not on what was discovered either.

  deniable model train routes.txt --out routes.model
"""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable model train", _ABOUT, arguments="FILE...")
    command_parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="Public text, one string a line."
    )
    command_parser.add_argument("--out", type=Path, required=True, metavar="PATH",
                      help="Where the model is written: beside metrics.toml.")  # fmt: skip
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        ParameterError: if a file is not UTF-8, or there are too few examples.
    """
    examples: dict[bytes, float] = {}
    for file in options.files:
        _add_examples(file, examples)
    if len(examples) < LEAST_EXAMPLES:
        constraint = f"at least {LEAST_EXAMPLES} different ones"
        raise ParameterError("strings of FILE", constraint, len(examples))
    for notice in notices(value.decode(errors="replace") for value in examples):
        print(printable(f"Notice: {notice}"), file=sys.stderr)
    answer = _trained(examples, options.out)
    if options.json:
        print(json.dumps(answer, indent=2))
    else:
        print("\n".join(_text(answer, options.out)))
    return 0


def _add_examples(file: Path, examples: dict[bytes, float]) -> None:
    try:
        lines = lines_of(read_file(file))
    except ParameterError as error:
        raise ParameterError(str(file), error.constraint, error.value) from None
    for number, line in enumerate(lines, start=1):
        place = f"{file}:{number}"
        text, _, count = line.partition("\t")
        if not text.strip():
            continue
        if count and not (count.strip().isascii() and count.strip().isdigit() and int(count) > 0):
            raise ParameterError(
                place, "a string, or a string, a tab and a count", text[:40] + "\t" + count[:40]
            )
        value = canonical(text)
        examples[value] = examples.get(value, 0) + (int(count) if count else 1)


def _trained(examples: dict[bytes, float], out: Path) -> dict[str, Any]:
    """Writes the model, and returns what is printed for programs."""
    shipped = shipped_model()
    values = sorted(examples)
    tested = values[::_HELD_OUT]
    training = {value: examples[value] for value in values if value not in {*tested}}
    before = _bits(shipped, tested)
    after = _bits(Model(fitted(shipped, training)), tested)
    body = fitted(shipped, examples)
    with replaced_file(out) as file:
        file.write(body)
    return {
        "strings": len(values),
        "bits_of_a_string": {"shipped_model": round(before, 1), "this_model": round(after, 1)},
        "file": str(out),
        "bytes": len(body),
        "model": out.name,
        "model_digest": Model(body).digest.hex(),
    }


def _bits(model: Model, values: list[bytes]) -> float:
    """How many bits a string takes on average."""
    code = LetterCode("text", MAX_LONGEST, model)
    return fmean(code.encode(value)[1] for value in values)


def _text(answer: dict[str, Any], out: Path) -> list[str]:
    before, after = answer["bits_of_a_string"].values()
    lines = [
        f"{answer['strings']:,} different strings",
        "Bits of a string, on average over a tenth that was left out of the training:",
        f"  {before:>6.1f}  with the shipped model",
        f"  {after:>6.1f}  with a model of the other nine tenths",
    ]
    if not after < before * 0.98:
        lines += wrapped(
            [
                "The shipped model does as well: leave model out of metrics.toml, "
                "or give more examples."
            ]
        )
    lines += [
        f"Wrote {out}: {answer['bytes']:,} bytes. In metrics.toml, which it stands beside:",
        "",
        f'  model = "{answer["model"]}"',
        f'  model_digest = "{answer["model_digest"]}"',
        "",
    ]
    return lines + wrapped(
        [
            "Every device and the server get this file. Train on public text only, "
            "never on what users recorded."
        ]
    )
