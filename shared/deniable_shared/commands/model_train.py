"""``deniable model train``: makes a model of phrases from public text of one kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.characters import visible
from deniable_shared.commands.ascii import printable
from deniable_shared.commands.mistakes import read_file
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import wrapped
from deniable_shared.errors import ParameterError
from deniable_shared.hashing import canonical
from deniable_shared.letters import PhraseModel, shipped_model
from deniable_shared.letters.left_out import bits_left_out, quantiles
from deniable_shared.letters.levels import LeftOutBits, level_of
from deniable_shared.letters.phrase_training import trained_on_phrases
from deniable_shared.public_text import longest_texts, outermost, private_shapes
from deniable_shared.replaced_file import replaced_file
from deniable_shared.value_lists import lines_of, notices

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

LEAST_EXAMPLES: Final = 50
_NOT_MEASURED: Final = LeftOutBits(0, 0, 0)
_NOTABLY_LESS: Final = 0.98
"""A model that takes more than this part of the shipped one's bits does not do better."""
_ABOUT: Final = """\
Makes a model of phrases from the lines of FILE, for metrics with
discover = true.

A metric that discovers strings codes each string in a few bits. The fewer bits
a string takes, the fewer devices it takes to find it. The model that comes with
Deniable is for words of all languages, names and addresses. If the strings of a
metric are of a kind of their own, such as routes, user agents or crash
signatures, a model made of some hundred examples of that kind makes them
shorter. Train on what your last build can send.

Each line of FILE is one string, in UTF-8. A tab and a number after it say how
often it comes. The order of the lines does not matter. Strings unlike the
examples take two bits more at most than without the model.

The examples must be PUBLIC, such as sources, routes and documentation: every
device and the server get the model, and what comes three times in the examples
stands in it as it is. Never train a model on what users recorded, and not on
what was discovered either. Read the phrases that are printed.

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

    def train(half: Mapping[bytes, float]) -> Callable[[bytes], int]:
        return PhraseModel(trained_on_phrases(half, _NOT_MEASURED)).length

    bits = bits_left_out(examples, train)
    measured = quantiles(bits)
    shipped = quantiles(sorted(map(shipped_model().length, examples)))
    single = None
    if not _is_better(measured, shipped):
        single = quantiles(bits_left_out(examples, train, in_groups=False))
    longest_bits = measured.longest_bits
    model = PhraseModel(trained_on_phrases(examples, measured))
    with replaced_file(out) as file:
        file.write(model.body)
    to_read = outermost([phrase.decode() for phrase in model.phrases])
    return {
        "strings": len(examples),
        "phrases": len(model.phrases),
        "longest": longest_texts(to_read),
        "warnings": list(private_shapes(to_read)),
        "bits_left_out": measured._asdict(),
        "bits_of_single_strings_left_out": single and single._asdict(),
        "bits_of_shipped_model": shipped._asdict(),
        "better": _is_better(single or measured, shipped),
        "file": str(out),
        "bytes": len(model.body),
        "model": out.name,
        "model_digest": model.digest.hex(),
        "longest_bits": longest_bits,
        "levels": 1 + level_of(longest_bits),
        "sent_whole": round(sum(each <= longest_bits for each in bits) / len(bits), 3),
    }


def _text(answer: dict[str, Any], out: Path) -> list[str]:
    single = answer["bits_of_single_strings_left_out"]
    lines = [
        f"{answer['strings']:,} different strings, {answer['phrases']:,} phrases. Every device "
        "gets these; the longest:",
        *(f"  {printable(visible(phrase))}" for phrase in answer["longest"]),
        "Bits of a string, if strings that begin alike are left out of the training:",
        f"  {_needed(answer['bits_left_out'])}",
        *([f"  {_needed(single)}  if single strings are"] if single else []),
        f"  {_needed(answer['bits_of_shipped_model'])}  with the shipped model",
    ]
    if not answer["better"]:
        lines += wrapped(
            [
                "The shipped model does as well: leave model out of metrics.toml, "
                "or give more examples."
            ]
        )
    elif single:
        lines += wrapped(
            [
                "Only strings that begin like an example take fewer bits than with the shipped "
                "model: give examples of all that yours begin with. If they begin with nothing "
                f"else, longest_bits = {LeftOutBits(**single).longest_bits} is enough."
            ]
        )
    levels = answer["levels"]
    lines += [
        f"Wrote {out}: {answer['bytes']:,} bytes. In metrics.toml, which it stands beside:",
        "",
        f'  model = "{answer["model"]}"',
        f'  model_digest = "{answer["model_digest"]}"',
        f"  longest_bits = {answer['longest_bits']}  # {levels} level{'s' * (levels > 1)}: "
        f"{answer['sent_whole']:.0%} of strings like these are sent whole",
        "",
    ]
    for warning in answer["warnings"]:
        lines += [*wrapped([printable(f"Warning: {warning}")]), ""]
    return lines + wrapped(
        [
            "Every device and the server get this file. Train on public text only, "
            "never on what users recorded."
        ]
    )


def _is_better(bits: LeftOutBits, shipped: LeftOutBits) -> bool:
    return bits.most < _NOTABLY_LESS * shipped.most


def _needed(bits: dict[str, int]) -> str:
    return (
        f"half need {bits['half']:>4}, 90% need {bits['most']:>4}, 98% need {bits['nearly_all']:>4}"
    )
