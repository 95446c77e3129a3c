"""A question that a metric cannot answer, for a reason that needs a sentence of its own."""

from __future__ import annotations

from deniable_shared.errors import ParameterError


class UnanswerableError(ParameterError):
    """What is asked makes sense, but not of this metric or these reports.

    Args:
        name: of the parameter.
    """

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(name, "one that can be answered", value)
        self.args = (reason,)
        self._arguments = name, value, reason

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._arguments
