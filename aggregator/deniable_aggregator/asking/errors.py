"""What a question that got no answer raises."""

from __future__ import annotations

from deniable_shared.errors import DeniableError


class AskingError(DeniableError):
    """A question got no answer. The message says why, and what to do next; it has no token.

    Attributes:
        code: a short word for programs: that of the server's problem, such as "unknown_metric", or
            "unreachable", "unreadable_answer", "no_token", "unknown_profile" or "refused_profile".
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.code)
