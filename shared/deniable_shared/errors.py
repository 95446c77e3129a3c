"""Every error that Deniable raises.

    DeniableError
    ├── ParameterError (ValueError)   an argument or a parameter breaks its constraint
    ├── RegistryError                 a metrics.toml has problems; all of them are listed
    ├── PriorsError                   a file that says how common values are has problems
    ├── DomainError                   a recorded value is outside its metric's domain
    ├── RecordError                   in strict mode: a value was not recorded, and why
    ├── UploadError                   in strict mode: a flush met a mistake, and what to do about it
    └── WireError (ValueError)        bytes that are not what the wire format says
        ├── SealError                 an envelope that does not open
        └── TooManyPartsError         an upload that must be split

A recorded value is never part of a message: see the privacy invariants in docs/design.md.
"""

from __future__ import annotations


class DeniableError(Exception):
    """The root of all errors raised by Deniable."""


class ParameterError(DeniableError, ValueError):
    """An argument breaks its constraint: ``<name> must be <constraint>, got <value!r>``."""

    def __init__(self, name: str, constraint: str, value: object) -> None:
        super().__init__(f"{name} must be {constraint}, got {value!r}")
        self.name = name
        self.constraint = constraint
        self.value = value

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.name, self.constraint, self.value)


class RegistryError(DeniableError):
    """A registry file has problems.

    Attributes:
        problems: one sentence each, naming file, metric, field, constraint and value.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.problems,)


class PriorsError(DeniableError):
    """A file that says how common values are cannot be read, or says what cannot be."""


class DomainError(DeniableError):
    """A value is outside its metric's domain. The message names the metric, never the value."""


class RecordError(DeniableError):
    """A value was not recorded; raised by a client in strict mode, for the programmer to see.

    It holds neither the value nor what was passed as the metric's name, and no earlier exception.

    Attributes:
        outcome: what a client that is not strict would have answered, such as "unknown_metric".
        problem: what is wrong, in words.
    """

    def __init__(self, outcome: str, problem: str) -> None:
        super().__init__(f"{outcome}: {problem}")
        self.outcome = outcome
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.outcome, self.problem)


class UploadError(DeniableError):
    """Reports were not accepted because of a mistake; raised by the flush of a strict client.

    Attributes:
        kind: a word for the mistake, such as "not_registered".
        problem: what happened and what to do, in words.
    """

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind = kind
        self.problem = problem

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.kind, self.problem)


class WireError(DeniableError, ValueError):
    """Bytes from outside are malformed. Nothing was stored or counted."""


class SealError(WireError):
    """An envelope does not open, or is not what its header says."""


class TooManyPartsError(WireError):
    """An upload has more parts than one may have. Its reports may come in several uploads."""
