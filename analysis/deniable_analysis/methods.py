"""The methods that ask, made of the rows of the table of questions.

`methods.pyi` says their types to type checkers and editors. It is made of the same rows, by
``python -m tools.notebook_stub``.
"""

from __future__ import annotations

from deniable_aggregator.asking.questions import QUESTIONS
from deniable_analysis.method import asked_of_all, asked_of_metric, method_name, method_of


class MetricQuestions:
    """The questions about one metric."""


class ProjectQuestions:
    """The questions about all metrics of an application."""

    _place = ()


for _question in QUESTIONS:
    for _kind, _belongs in ((MetricQuestions, asked_of_metric), (ProjectQuestions, asked_of_all)):
        if _belongs(_question):
            setattr(_kind, method_name(_question), method_of(_question))
