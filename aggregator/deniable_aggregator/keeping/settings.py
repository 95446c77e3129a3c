"""The settings of a server. A new one needs a field of `Settings`, and nothing else.

Its name in a file, in the environment and as an option, its entry in ``deniable config example``,
its check and its help all come from this field.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, cast

from deniable_aggregator.keeping.setting_constraints import Constraint, redact, redact_path
from deniable_shared.addresses import is_this_machine
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.words import PeriodLength

MAX_SECONDS: Final = 10_000_000
"""Longer times overflow in the system calls that threads wait with."""

MAX_BYTES: Final = 1 << 40

CHANNELS: Final = ("digest_webhook", "digest_mail_to")
"""The settings that say where digests are sent to."""

_CONSTRAINT: Final = "constraint"
_ORIGIN: Final = r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]+)?"

_MAILBOX: Final = r"[^\s\0,@<>]+@[a-zA-Z0-9.-]+"
_THIS_MACHINE: Final = r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?(/|$)"

_SERVER: Final = "Where it listens and what it keeps"
_LIMITS: Final = "Limits"
_WORK: Final = "Days and background work"
_WATCH: Final = "What operators see"
_DIGESTS: Final = "What comes to people"


def _setting(default: Any, meaning: str, group: str, **bounds: Any) -> Any:
    constraint = Constraint(meaning, group, **bounds)
    return field(default=default, repr=not constraint.secret, metadata={_CONSTRAINT: constraint})


@dataclass(frozen=True)
class Settings:
    """All settings; ``deniable config example`` prints them with what they mean.

    Raises:
        ParameterError: if one of them breaks its constraint.
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
        "The address to listen on. For any other than 127.0.0.1, put a reverse proxy in "
        "front that does TLS and buffers request bodies.",
        _SERVER,
    )
    port: int = _setting(8_787, "The TCP port to listen on.", _SERVER, minimum=1, maximum=65_535)
    pages: str = _setting(
        "auto",
        "Whether pages for people are served at the address of the server, to whoever signs in "
        "with a key that may read: on, off, or auto, which is on if the server listens on an "
        "address of its own machine alone, such as 127.0.0.1.",
        _SERVER,
        choices=("auto", "on", "off"),
    )
    share_links: str = _setting(
        "off",
        "Whether whoever may read metrics can make links that show one view with fixed days to "
        "people without a key, for at most 90 days: on or off. Off, no link works that was made.",
        _SERVER,
        choices=("off", "on"),
    )
    threads: int = _setting(
        8,
        "How many requests are worked on at a time, apart from uploads, which need no threads, and "
        "questions, which have processes.",
        _SERVER,
        minimum=1,
        maximum=512,
    )
    browser_origins: str = _setting(
        "",
        "Web pages of which origins may send uploads; empty for none. As browsers send them: in "
        "lower case, without a path and without the default port.",
        _SERVER,
        optional=True,
        pattern=rf"\*|{_ORIGIN}(,{_ORIGIN})*",
        pattern_in_words="origins such as https://app.example.org with commas between them, or * "
        "for all",
    )
    question_processes: int = _setting(
        1,
        "How many processes answer questions beside the one that takes uploads, at a lower "
        "priority. In each, applications have equal shares of a processor, and so have the keys of "
        "an application. With 0 questions are answered in threads of the one that takes uploads, "
        "without shares, and uploads wait while they are.",
        _SERVER,
        minimum=0,
        maximum=64,
    )
    relay_keys: str = _setting(
        "",
        "The file of the keys that uploads are sealed to behind a relay, see deniable relay-key; "
        "left out for relay_keys beside the store's file. Of a PostgreSQL store every server has a "
        "copy of it, named here.",
        _SERVER,
        optional=True,
    )
    drain_seconds: float = _setting(
        1.0,
        "How long a server that was told to end still accepts requests. Meanwhile it says that it "
        "is not ready, so that a load balancer sends no more.",
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
        "How much memory all bodies of uploads together may take, from their first byte until they "
        "are answered; at least max_body_bytes. Beyond it the server answers 429.",
        _LIMITS,
        minimum=4_096,
        maximum=MAX_BYTES,
    )
    queue_uploads: int = _setting(
        512,
        "How many uploads may wait for the next commit. Beyond it the server answers 429, so that "
        "no upload waits for more than two commits.",
        _LIMITS,
        minimum=1,
        maximum=1_000_000,
    )
    queue_bytes: int = _setting(
        1 << 20,
        "How much memory waiting uploads may take. A single upload may always wait, of any size.",
        _LIMITS,
        minimum=65_536,
        maximum=MAX_BYTES,
    )
    queue_seconds: float = _setting(
        5.0,
        "How long an upload may wait for a commit. After that the server answers 429.",
        _LIMITS,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    rate_limit: str = _setting(
        "",
        "How many uploads one key may send, such as 10000/minute; empty for no limit. Note "
        "that all devices with one build of an application share a key.",
        _LIMITS,
        optional=True,
        pattern=r"[1-9][0-9]*/(second|minute|hour|day)",
        pattern_in_words="a number, / and second, minute, hour or day",
    )
    rate_limit_store: str = _setting(
        "memory://",
        "Where uploads are counted for rate_limit: memory:// counts in each server by itself, "
        "redis://HOST:PORT in all servers together.",
        _LIMITS,
        pattern=r"memory://|rediss?://[^\0]+",
        pattern_in_words="memory://, or a URL that begins with redis:// or rediss://",
        secret=True,
    )
    key_bytes_per_day: int = _setting(
        4 << 30,
        "How many bytes of reports one key may bring a day (UTC), each part of an upload with 64 "
        "more, to all servers of a store together; 0 for no limit. Anybody can read the write key "
        "of a released application, so this bounds what a forger can store: a twenty-fourth of it "
        "is released each hour, half of that for uploads of one report. A batch key may bring all "
        "at once. Beyond it the server answers 429, and devices keep their reports.",
        _LIMITS,
        minimum=0,
        maximum=MAX_BYTES,
    )
    min_free_bytes: int = _setting(
        256 << 20,
        "With less free space on the disk with its store's file, a server answers uploads with "
        "507, which devices send again, and is not ready. Counting and merging still work.",
        _LIMITS,
        minimum=0,
        maximum=MAX_BYTES,
    )
    read_rate_limit: str = _setting(
        "1200/minute",
        "How many questions one key may ask, such as 100/minute; empty for no limit. They are "
        "counted where rate_limit_store says.",
        _LIMITS,
        optional=True,
        pattern=r"[1-9][0-9]*/(second|minute|hour|day)",
        pattern_in_words="a number, / and second, minute, hour or day",
    )
    question_seconds: float = _setting(
        90.0,
        "How many seconds of a processor the answer to a question may use; waiting for others does "
        "not count. A question that would use more by what it asks for is refused before it "
        "begins, one that has used more as it has.",
        _LIMITS,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    question_memory_bytes: int = _setting(
        2 << 30,
        "How much memory a process that answers questions may take. A question that needs more is "
        "refused.",
        _LIMITS,
        minimum=256 << 20,
        maximum=MAX_BYTES,
    )
    discovery_seconds: float = _setting(
        600.0,
        "How long a run may take that looks for strings nobody listed. After that its process is "
        "ended, and the run has failed.",
        _LIMITS,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    discovery_memory_bytes: int = _setting(
        2 << 30,
        "How much memory the process of such a run may take. Each server runs one at a time.",
        _LIMITS,
        minimum=256 << 20,
        maximum=MAX_BYTES,
    )
    deny_list: str = _setting(
        "",
        "A file with strings that deniable discover never shows or stores, a line each; empty for "
        "none. A line is a whole string, in which * stands for any characters and ? for one. Upper "
        "and lower case do not matter.",
        _LIMITS,
        optional=True,
    )
    max_candidates: int = _setting(
        5_000_000,
        "How many values one question may look for.",
        _LIMITS,
        minimum=1,
        maximum=MAX_BYTES,
    )
    max_candidates_bytes: int = _setting(
        256 << 20, "The largest body of a question.", _LIMITS, minimum=1, maximum=MAX_BYTES
    )
    accept_days: int = _setting(
        14,
        "For how many days after a day its reports are accepted. Devices that are offline for "
        "longer lose theirs. Hashes of upload ids are kept for as long.",
        _WORK,
        minimum=0,
        maximum=365,
    )
    retention_days: int = _setting(
        0,
        "After how many days the tallies of a day are deleted; at least accept_days, or 0 to keep "
        "them for ever.",
        _WORK,
        minimum=0,
        maximum=36_500,
    )
    archive_days: int = _setting(
        0,
        "For how many days after a day has closed its reports are kept for deniable archive, which "
        "writes them into files; without it only sums are kept, and few reports. All servers of a "
        "store should have the same.",
        _WORK,
        minimum=0,
        maximum=365,
    )
    roll_up_days: int = _setting(
        0,
        "After how many days the days of a week or month become one, which takes a fraction of "
        "the space; at least accept_days, or 0 for never. Questions about a part of such a period "
        "are refused then, and keys can no longer be excluded from it.",
        _WORK,
        minimum=0,
        maximum=36_500,
    )
    roll_up_by: str = _setting(
        "month", "Which days become one, see roll_up_days.", _WORK, choices=("week", "month")
    )
    estimate_periods: str = _setting(
        "day,week,month",
        "Of which past periods estimates are written into the SQL table estimates, which "
        "dashboards and other programs can read: some of day, week and month, with commas between "
        "them; empty for none.",
        _WORK,
        optional=True,
        pattern=r"(day|week|month)(,(day|week|month)){0,2}",
        pattern_in_words="some of day, week and month, with commas between them",
    )
    part_reports: int = _setting(
        100,
        "How many reports a key, version or segment needs in the days asked to be compared or "
        "shown by itself: fewer say little, and much of each device.",
        _WORK,
        minimum=1,
        maximum=1_000_000_000,
    )
    batch_reports: int = _setting(
        100,
        "How many reports of one version, day and key are shown together, so that nobody who asks "
        "again and again sees single ones: of today such a batch is shown when the next is full, "
        "and all that waits when the next day begins (UTC). 1 shows every report as it is counted.",
        _WORK,
        minimum=1,
        maximum=1_000_000_000,
    )
    fold_seconds: float = _setting(
        21_600.0,
        "How long a few reports wait in the inbox before they are gathered for their batch; many "
        "are sooner. This only decides how much is written.",
        _WORK,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    max_fold_lag_seconds: float = _setting(
        900.0,
        "The server reports that it is not ready when reports have waited in the inbox this many "
        "seconds longer than they should.",
        _WATCH,
        exclusive_minimum=0,
        maximum=MAX_SECONDS,
    )
    log_format: str = _setting(
        "text",
        "The form of log lines, which go to the error output.",
        _WATCH,
        choices=("text", "json"),
    )
    log_level: str = _setting(
        "info",
        "Which log lines are printed: those of this level and of more important ones.",
        _WATCH,
        choices=("debug", "info", "warning", "error"),
    )
    metrics_host: str = _setting(
        "127.0.0.1", "The address that Prometheus reads metrics from, without a key.", _WATCH
    )
    metrics_port: int = _setting(
        0,
        "The TCP port that Prometheus reads /metrics from; 0 for none.",
        _WATCH,
        minimum=0,
        maximum=65_535,
    )

    digest_every: str = _setting(
        "never",
        "How often people are sent what is popular and what has changed: of yesterday, of the week "
        "that ended on Sunday, or never.",
        _DIGESTS,
        choices=("never", "day", "week"),
    )
    digest_hour: int = _setting(
        7, "From which hour of the day on (UTC) it is sent.", _DIGESTS, minimum=0, maximum=23
    )
    digest_when: str = _setting(
        "always",
        "Whether it is sent always, or only if something has clearly changed, looks forged or has "
        "stopped: news.",
        _DIGESTS,
        choices=("always", "news"),
    )
    digest_details: str = _setting(
        "off",
        "Whether labels of keys, and strings that nobody listed, are in it: on or off. Whoever "
        "runs the chat or mail server reads them, too.",
        _DIGESTS,
        choices=("off", "on"),
    )
    digest_link: str = _setting(
        "",
        "Where people reach this server's pages, such as https://telemetry.example.org; it stands "
        "below the digest. Empty for no link.",
        _DIGESTS,
        optional=True,
        pattern=r"https?://[^\s\0]+",
        pattern_in_words="a URL that begins with https:// or http://",
    )
    digest_webhook: str = _setting(
        "",
        "The incoming webhook of a chat that it is sent to; empty for none. Whoever has the URL "
        "can write there.",
        _DIGESTS,
        optional=True,
        secret=True,
        secret_path=True,
        pattern=rf"https://[^\s\0]+|http://{_THIS_MACHINE}[^\s\0]*",
        pattern_in_words="a URL that begins with https://, or with http:// and this machine",
    )
    digest_webhook_form: str = _setting(
        "text",
        "What the webhook takes: text, as Slack and Mattermost do, or card, an Adaptive Card, as "
        "Teams does.",
        _DIGESTS,
        choices=("text", "card"),
    )
    digest_mail_to: str = _setting(
        "",
        "The addresses that it is mailed to, with commas between them; empty for none.",
        _DIGESTS,
        optional=True,
        pattern=rf"{_MAILBOX}(,{_MAILBOX})*",
        pattern_in_words="addresses such as team@example.org, with commas between them",
    )
    digest_mail_from: str = _setting(
        "",
        "The address that it is mailed from.",
        _DIGESTS,
        optional=True,
        pattern=_MAILBOX,
        pattern_in_words="an address such as deniable@example.org",
    )
    digest_mail_server: str = _setting(
        "",
        "The mail server: smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS, without which "
        "only this machine is spoken to. USER and PASSWORD may be left out.",
        _DIGESTS,
        optional=True,
        secret=True,
        pattern=r"smtps?://([^\s\0/@:]+:[^\s\0/@]+@)?[a-zA-Z0-9.-]+(:[0-9]{1,5})?",
        pattern_in_words="a URL that begins with smtp:// or smtps://",
    )

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in CONSTRAINTS}
        for name, constraint in invalid_settings(values):
            raise ParameterError(name, constraint, redacted(name, values[name]))

    @property
    def origin(self) -> str:
        """The address of the server as it is written in front of paths."""
        return f"http://{self._host_in_addresses}:{self.port}"

    @property
    def serves_pages(self) -> bool:
        """Whether pages for people are served."""
        if self.pages == "auto":
            return is_this_machine(self._host_in_addresses)
        return self.pages == "on"

    @property
    def period_lengths(self) -> tuple[PeriodLength, ...]:
        """How long the periods of the SQL table of estimates are."""
        return cast(
            "tuple[PeriodLength, ...]", tuple(filter(None, self.estimate_periods.split(",")))
        )

    @property
    def _host_in_addresses(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


CONSTRAINTS: Final[Mapping[str, Constraint]] = {
    setting.name: setting.metadata[_CONSTRAINT] for setting in fields(Settings)
}
"""The constraint of every setting, in the order of the example file."""

DEFAULTS: Final[Mapping[str, Any]] = {setting.name: setting.default for setting in fields(Settings)}

KINDS: Final[Mapping[str, type]] = {name: type(default) for name, default in DEFAULTS.items()}
"""The type of every setting: int, float or str."""


def invalid_settings(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The settings that break their constraints, each with the constraint in words.

    Args:
        values: a value of any type for every setting.
    """
    wrong = set()
    for name, constraint in CONSTRAINTS.items():
        if not constraint.allows(KINDS[name], values[name]):
            wrong.add(name)
            yield name, constraint.in_words(KINDS[name])
    for name, least_name in (
        ("in_flight_bytes", "max_body_bytes"),
        ("retention_days", "accept_days"),
        ("roll_up_days", "accept_days"),
    ):
        unlimited = least_name == "accept_days" and values[name] == 0
        if (
            not wrong & {name, least_name}
            and not unlimited
            and not values[name] >= values[least_name]
        ):
            yield name, f"at least {least_name}, which is {values[least_name]:,}"
    if wrong:
        return
    if values["digest_every"] != "never" and not any(map(values.get, CHANNELS)):
        yield "digest_every", f"never without {' or '.join(CHANNELS)}"
    for name in ("digest_mail_from", "digest_mail_server"):
        if values["digest_mail_to"] and not values[name]:
            yield name, "set with digest_mail_to"


def redacted(name: str, value: object) -> object:
    """The value of a setting, without the password that it may have."""
    constraint = CONSTRAINTS[name]
    if constraint.secret_path:
        return redact_path(value)
    return redact(value) if constraint.secret else value
