"""Writes the types of the notebook's methods, made of the table of questions.

``python -m tools.notebook_stub > analysis/deniable_analysis/methods.pyi``
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TYPE_CHECKING, Any, get_args

from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.discoveries import Discovery
from deniable_aggregator.asking.questions import QUESTIONS
from deniable_analysis.method import (
    RESULTS,
    Argument,
    arguments_of,
    asked_of_all,
    asked_of_metric,
    described,
    method_name,
)

if TYPE_CHECKING:
    from deniable_aggregator.asking.questions import Question

LINE = 100
"""Letters in a line."""

_HEAD = '''"""The methods that ask. Made by tools/notebook_stub.py of the table of questions."""

from collections.abc import Sequence
from datetime import date
from typing import Literal

{imports}

class MetricQuestions:
    _source: Source
    _place: tuple[str, ...]
    def _today(self) -> date: ...
{of_metric}

class ProjectQuestions:
    _source: Source
    _place: tuple[()]
    def _today(self) -> date: ...
{of_all}
'''


def text() -> str:
    """The stub."""
    asked = [each for each in QUESTIONS if asked_of_metric(each) or asked_of_all(each)]
    named = dict.fromkeys(kind for each in asked for kind in _results(each))
    modules: dict[str, list[str]] = {
        "deniable_aggregator.asking.questions": ["Source"],
        "deniable_analysis.questions": ["Day", "Period", "Some"],
    }
    for kind in named:
        modules.setdefault(kind.__module__, []).append(kind.__name__)
    imports = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(modules.items())
    ]
    return _HEAD.format(
        imports="\n".join(imports),
        of_metric="\n".join(_method(each) for each in asked if asked_of_metric(each)),
        of_all="\n".join(_method(each) for each in asked if asked_of_all(each)),
    )


def _results(question: Question[Any, Any]) -> list[type]:
    answer = Answer if question.answer is Discovery else question.answer
    kinds = get_args(answer) or (answer,)
    return list(dict.fromkeys(RESULTS.get(each, each) for each in kinds))


def _method(question: Question[Any, Any]) -> str:
    arguments = list(arguments_of(question))
    required = [each for each in arguments if each.default is inspect.Parameter.empty]
    optional = [each for each in arguments if each not in required]
    lines = ["self,", *map(_line, required), "*,", *map(_line, optional)]
    result = " | ".join(kind.__name__ for kind in _results(question))
    body = "\n".join(
        line if len(line) <= LINE - 8 else textwrap.fill(line, LINE - 8, subsequent_indent=" " * 8)
        for line in described(question).splitlines()
    )
    signature = textwrap.indent("\n".join(lines), "    ")
    method = f"def {method_name(question)}(\n{signature}\n) -> {result}:\n"
    method += textwrap.indent(f'"""{body}\n"""', "    ")
    return textwrap.indent(method, "    ")


def _line(argument: Argument) -> str:
    default = (
        "" if argument.default is inspect.Parameter.empty else f" = {_source(argument.default)}"
    )
    return f"{argument.name}: {argument.type}{default},"


def _source(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    print(text(), end="")
