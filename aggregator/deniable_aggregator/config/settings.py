"""What an operator may set; every default is the one that was measured or argued for.

A setting is one field of `Settings`, and nothing else: its name in a file, in the environment and
as an option, its entry in ``deniable config example``, its check and its help all come from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.config.constraints import Constraint
from deniable_aggregator.config.redaction import redact
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_SECONDS: Final = 10_000_000
"""Threads cannot wait for much longer: what they wait with overflows."""

MAX_BYTES: Final = 1 << 40

_CONSTRAINT: Final = "constraint"


_SERVER: Final = "Where it listens and what it keeps"
_LIMITS: Final = "Limits"
_WORK: Final = "Days and background work"
_WATCH: Final = "What operators see"


def _setting(default: Any, meaning: str, group: str, **bounds: Any) -> Any:
    constraint = Constraint(meaning, group, **bounds)
    return field(default=default, repr=not constraint.secret, metadata={_CONSTRAINT: constraint})


@dataclass(frozen=True)
class Settings:
    """All settings; ``deniable config example`` prints them with what they mean.

    Raises:
        ParameterError: if one of them is not what it must be.
    """

    store: str = _setting(
        "",
        "The SQLite file, created if absent, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE. "
        "Passwords belong into a file or the environment: other users of a machine can see "
        "options.",
        _SERVER,
        secret=True,
        optional=True,
        pattern=r"(?![a-zA-Z0-9+.-]+://)[^\0]+|postgres(ql)?://[^\0]*",
        pattern_in_words="a path, or a URL that begins with postgresql://",
    )
    host: str = _setting(
        "127.0.0.1",
        "The address to listen on. Beyond 127.0.0.1, put a buffering reverse proxy in front: TLS "
        "is its business.",
        _SERVER,
    )
    port: int = _setting(8_787, "The TCP port to listen on.", _SERVER, minimum=1, maximum=65_535)
    threads: int = _setting(
        8,
        "Questions and acts of administration that are worked on at a time. Uploads need no "
        "threads.",
        _SERVER,
        minimum=1,
        maximum=512,
    )
    drain_seconds: float = _setting(
        1.0,
        "How long requests are still accepted after the server was told to end and says that it "
        "is not ready, so that a load balancer can notice.",
        _SERVER,
        minimum=0,
        maximum=3_600,
    )
    max_body_bytes: int = _setting(
        8 << 20, "The largest upload.", _LIMITS, minimum=4_096, maximum=MAX_BYTES
    )
    header_seconds: float = _setting(
        10.0,
        "How long a client may take to send the headers of a request, and how long a connection "
        "without a request is kept.",
        _LIMITS,
        minimum=1,
        maximum=60,
    )
    body_seconds: float = _setting(
        10.0,
        "How long a client may take to send a whole body.",
        _LIMITS,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    in_flight_bytes: int = _setting(
        64 << 20,
        "Bodies of uploads in memory over all connections, from their first byte until they are "
        "answered, at least max_body_bytes; beyond it the server answers 429.",
        _LIMITS,
        minimum=4_096,
        maximum=MAX_BYTES,
    )
    queue_uploads: int = _setting(
        512,
        "Uploads that may wait for the next commit; beyond it the server answers 429, so that "
        "nobody waits for more than two commits.",
        _LIMITS,
        minimum=1,
        maximum=1_000_000,
    )
    queue_bytes: int = _setting(
        1 << 20,
        "What these may take in memory. One upload of whatever size may always wait.",
        _LIMITS,
        minimum=65_536,
        maximum=MAX_BYTES,
    )
    queue_seconds: float = _setting(
        5.0,
        "The longest wait for a commit; beyond it the server answers 429.",
        _LIMITS,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    rate_limit: str = _setting(
        "",
        "How many uploads one write key may bring, such as 10000/minute; empty for no limit. A "
        "key is that of all devices with one build of an application, or of a relay.",
        _LIMITS,
        optional=True,
        pattern=r"[1-9][0-9]*/(second|minute|hour|day)",
        pattern_in_words="a number, / and second, minute, hour or day",
    )
    rate_limit_store: str = _setting(
        "memory://",
        "Where they are counted: memory:// counts in each server for itself, redis://HOST:PORT in "
        "all of them together.",
        _LIMITS,
        pattern=r"memory://|rediss?://[^\0]+",
        pattern_in_words="memory://, or a URL that begins with redis:// or rediss://",
        secret=True,
    )
    max_candidates: int = _setting(
        5_000_000,
        "The longest candidate list of one question.",
        _LIMITS,
        minimum=1,
        maximum=MAX_BYTES,
    )
    max_candidates_bytes: int = _setting(
        256 << 20, "The largest question.", _LIMITS, minimum=1, maximum=MAX_BYTES
    )
    accept_days: int = _setting(
        14,
        "Reports of a day are accepted until so many days later. Devices that were offline for "
        "longer lose theirs; hashes of upload ids are kept for exactly as long.",
        _WORK,
        minimum=0,
        maximum=365,
    )
    retention_days: int = _setting(
        0,
        "Tallies of a day are deleted so many days later, at least accept_days; 0 keeps them for "
        "ever.",
        _WORK,
        minimum=0,
        maximum=36_500,
    )
    fold_seconds: float = _setting(
        10.0,
        "How often waiting reports are counted. A question counts first what is waiting, so this "
        "only decides how large the inbox grows in between.",
        _WORK,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    max_fold_lag_seconds: float = _setting(
        900.0,
        "A server that has not counted all that waits for so long is not ready.",
        _WATCH,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    min_free_bytes: int = _setting(
        256 << 20,
        "A server with less free space on the disk of its store's file is not ready.",
        _WATCH,
        minimum=0,
        maximum=MAX_BYTES,
    )
    log_format: str = _setting(
        "text", "How lines are logged to the error output.", _WATCH, choices=("text", "json")
    )
    log_level: str = _setting(
        "info",
        "The least important lines that are logged.",
        _WATCH,
        choices=("debug", "info", "warning", "error"),
    )
    metrics_host: str = _setting(
        "127.0.0.1", "The address on which Prometheus is answered, without a key.", _WATCH
    )
    metrics_port: int = _setting(
        0,
        "The TCP port on which Prometheus is answered at /metrics; 0 answers nowhere.",
        _WATCH,
        minimum=0,
        maximum=65_535,
    )

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in CONSTRAINTS}
        for name, constraint in invalid_settings(values):
            raise ParameterError(name, constraint, redacted(name, values[name]))


CONSTRAINTS: Final[Mapping[str, Constraint]] = {
    each.name: each.metadata[_CONSTRAINT] for each in fields(Settings)
}
"""Every setting in the order of the file."""

DEFAULTS: Final[Mapping[str, Any]] = {each.name: each.default for each in fields(Settings)}

KINDS: Final[Mapping[str, type]] = {name: type(default) for name, default in DEFAULTS.items()}
"""Of each setting: int, float or str."""


def invalid_settings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each setting that is not what it must be, and what that is.

    Args:
        values: a value for every setting, of whatever type.
    """
    wrong = set()
    for name, constraint in CONSTRAINTS.items():
        if not constraint.allows(KINDS[name], values[name]):
            wrong.add(name)
            yield name, constraint.in_words(KINDS[name])
    for name, other in (("in_flight_bytes", "max_body_bytes"), ("retention_days", "accept_days")):
        unlimited = name == "retention_days" and values[name] == 0
        if not wrong & {name, other} and not unlimited and not values[name] >= values[other]:
            yield name, f"at least {other}, which is {values[other]:,}"


def redacted(name: str, value: object) -> object:
    """The value of a setting for people: a URL without its password."""
    return redact(value) if CONSTRAINTS[name].secret else value
